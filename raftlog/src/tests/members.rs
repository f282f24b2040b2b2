//! Replicas that join and leave.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::cluster::{Node, close_all, cluster_of, join_node, lead, temp_dirs};
use super::support::{count, options, propose, until};
use crate::testing::{Fate, LocalNetwork, MessageKind};
use crate::{
    ControlError, Engine, GroupConfig, GroupError, GroupState, LeadershipToken, MachineError,
    OpenError, RowBatch, StopReason,
};

/// A fourth replica joins, gets the rows and the entries behind them, and takes the place of a founder.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_joins_and_replaces_another() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    for _ in 0..20 {
        propose(&nodes[leader].group, "key").await;
    }
    let joined = join_node(&network, options(dirs[3].path(), 4)).await;
    assert_eq!(joined.group.status().voters, BTreeSet::new());
    assert_eq!(joined.seen.made.load(Ordering::SeqCst), 0, "no rows yet");
    let group = &nodes[leader].group;
    group.add_learner(token, 4).await.unwrap();
    group.add_learner(token, 4).await.unwrap();
    until("the learner has the rows", || {
        count(&joined.engine, 7, "key") == 20
    })
    .await;
    assert_eq!(joined.engine.metrics().snapshots_installed, 1);
    assert_eq!(joined.seen.made.load(Ordering::SeqCst), 1);
    let status = group.status();
    assert_eq!(status.voters, BTreeSet::from([1, 2, 3]));
    assert_eq!(
        (status.learners, status.is_joint),
        (BTreeSet::from([4]), false)
    );
    until("the leader knows", || {
        group.progress()[&4].matched_index == group.status().last_log_index
    })
    .await;
    assert!(!group.progress()[&4].is_voter);
    let campaign = joined.group.trigger_election().await;
    assert_eq!(campaign, Err(ControlError::BadTarget(4)), "it has no vote");
    let removed = (leader + 1) % 3;
    let voters: BTreeSet<u64> = (1..=4).filter(|id| *id != removed as u64 + 1).collect();
    group.change_voters(token, voters.clone()).await.unwrap();
    group.change_voters(token, voters.clone()).await.unwrap();
    let status = group.status();
    assert_eq!(status.voters, voters);
    assert_eq!((status.learners, status.is_joint), (BTreeSet::new(), false));
    assert!(group.progress().values().all(|known| known.is_voter));
    propose(group, "key").await;
    until("the new voter follows", || {
        count(&joined.engine, 7, "key") == 21 && joined.group.status().voters == voters
    })
    .await;
    // Its vote counts: with one founder down the other and it go on.
    let gone = nodes.swap_remove(removed);
    gone.engine.close().await;
    nodes.push(joined);
    let (leader, _) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    close_all(nodes).await;
}

/// Every refusal names its reason and changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_members_are_refused_with_a_reason() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    let (group, other) = (&nodes[leader].group, &nodes[(leader + 1) % 3].group);
    let before = group.status();
    assert_eq!(
        other.add_learner(token, 4).await,
        Err(ControlError::NotLeader)
    );
    assert!(other.progress().is_empty());
    let stale = LeadershipToken {
        term: token.term() - 1,
    };
    let three = BTreeSet::from([1, 2, 3]);
    assert_eq!(
        group.add_learner(stale, 4).await,
        Err(ControlError::NotLeader)
    );
    assert_eq!(
        group.change_voters(stale, three.clone()).await,
        Err(ControlError::NotLeader)
    );
    assert_eq!(
        group.add_learner(token, 0).await,
        Err(ControlError::BadMembers)
    );
    assert_eq!(
        group.change_voters(token, BTreeSet::new()).await,
        Err(ControlError::NoVoters)
    );
    assert_eq!(
        group.change_voters(token, BTreeSet::from([1, 2, 9])).await,
        Err(ControlError::UnknownMember(9))
    );
    assert_eq!(
        group.change_voters(token, (1..=65).collect()).await,
        Err(ControlError::BadMembers)
    );
    assert_eq!(
        group.remove_learner(token, 2).await,
        Err(ControlError::IsVoter(2))
    );
    group.remove_learner(token, 9).await.unwrap();
    group.change_voters(token, three).await.unwrap();
    assert_eq!(group.status().last_log_index, before.last_log_index);
    // A learner that nobody can reach is never caught up; it can be removed again.
    group.add_learner(token, 4).await.unwrap();
    let refused = group
        .change_voters(token, BTreeSet::from([1, 2, 3, 4]))
        .await;
    assert!(
        matches!(
            refused,
            Err(ControlError::NotCaughtUp {
                node_id: 4,
                matched_index: 0,
                ..
            })
        ),
        "{refused:?}"
    );
    assert_eq!(group.progress()[&4].silent_ms, None);
    group.remove_learner(token, 4).await.unwrap();
    assert_eq!(group.status().learners, BTreeSet::new());
    close_all(nodes).await;
}

/// A leader may remove itself: it leads until that is committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_leader_removes_itself() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    let rest: BTreeSet<u64> = (1..=3).filter(|id| *id != leader as u64 + 1).collect();
    let removal = nodes[leader].group.change_voters(token, rest.clone()).await;
    removal.unwrap();
    let gone = nodes.swap_remove(leader);
    let (next, _) = lead(&nodes).await;
    assert_eq!(nodes[next].group.status().voters, rest);
    propose(&nodes[next].group, "key").await;
    until("it knows that it does not lead", || {
        !gone.group.status().is_leader
    })
    .await;
    nodes.push(gone);
    close_all(nodes).await;
}

/// A learner of the leader's group, caught up.
async fn join_caught_up(
    network: &LocalNetwork,
    options: crate::EngineOptions,
    leader: &Node,
    token: LeadershipToken,
) -> Node {
    let node_id = options.node_id;
    let joined = join_node(network, options).await;
    leader.group.add_learner(token, node_id).await.unwrap();
    until("it is caught up", || {
        let status = leader.group.status();
        leader.group.progress()[&node_id].matched_index == status.last_log_index
    })
    .await;
    joined
}

/// A leader that is lost in the middle of a change of voters leaves two sets of them; the next one finishes the
/// change. Until then other changes are refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_leader_finishes_a_change_of_voters() {
    let (dirs, network) = (temp_dirs(5), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    for (place, node_id) in [(3, 4), (4, 5)] {
        let options = options(dirs[place].path(), node_id);
        nodes.push(join_caught_up(&network, options, &nodes[leader], token).await);
    }
    // Nothing reaches the new ones, so the change is begun and cannot be committed.
    network.interfere(|message| match message.kind {
        MessageKind::Append if message.to >= 4 => Fate::Hold,
        _ => Fate::Pass,
    });
    let target = BTreeSet::from([4, 5]);
    let group = nodes[leader].group.clone();
    let changing = tokio::time::timeout(
        std::time::Duration::from_millis(200),
        group.change_voters(token, target.clone()),
    );
    assert!(changing.await.is_err(), "it waits for its commit");
    until("the founders know", || {
        nodes[..3].iter().all(|node| node.group.status().is_joint)
    })
    .await;
    assert_eq!(group.add_learner(token, 9).await, Err(ControlError::Joint));
    let other = BTreeSet::from([1, 2]);
    assert_eq!(
        group.change_voters(token, other).await,
        Err(ControlError::Joint)
    );
    let gone = nodes.remove(leader);
    gone.engine.close().await;
    drop(gone);
    network.leave_alone();
    until("the change is finished", || {
        let joined = nodes
            .iter()
            .filter(|node| node.engine.options().node_id >= 4);
        let mut statuses = joined.map(|node| node.group.status());
        statuses.all(|status| status.voters == target && !status.is_joint)
    })
    .await;
    let removed = nodes.len() - 2;
    let (next, _) = lead(&nodes[removed..]).await;
    propose(&nodes[removed + next].group, "key").await;
    close_all(nodes).await;
}

/// A replica that joined is opened again at any time: before its first rows it waits on, after them it has its
/// machine from the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_joined_replica_is_opened_again() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    let joined = join_node(&network, options(dirs[3].path(), 4)).await;
    joined.engine.close().await;
    drop(joined);
    let again = options(dirs[3].path(), 4);
    let joined = join_caught_up(&network, again.clone(), &nodes[leader], token).await;
    until("it has the rows", || count(&joined.engine, 7, "key") == 1).await;
    joined.engine.close().await;
    drop(joined);
    propose(&nodes[leader].group, "key").await;
    let joined = join_node(&network, again).await;
    assert_eq!(joined.seen.made.load(Ordering::SeqCst), 1);
    until("it follows", || count(&joined.engine, 7, "key") == 2).await;
    assert_eq!(joined.engine.metrics().snapshots_installed, 0);
    joined.engine.close().await;
    close_all(nodes).await;
}

/// A machine that cannot be made of the first rows stops the group on that node, with the reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_rows_that_make_no_machine_stop_the_replica() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    let engine = Engine::open(options(dirs[3].path(), 4), network.transport(4)).unwrap();
    network.attach(&engine);
    engine
        .create_replica(7, engine.options().node_id)
        .await
        .unwrap();
    let factory: crate::MachineFactory = Box::new(|| Err(MachineError::new("of another version")));
    let joined = engine.open_group(7, factory).await.unwrap();
    nodes[leader].group.add_learner(token, 4).await.unwrap();
    let reason = StopReason::Machine("of another version".to_owned());
    until("it stops", || {
        joined.status().state == GroupState::Stopped(reason.clone())
    })
    .await;
    propose(&nodes[leader].group, "key").await;
    engine.close().await;
    close_all(nodes).await;
}

/// What a node joined it did not found, and the reverse; both are remembered.
#[tokio::test(flavor = "multi_thread")]
async fn joining_and_founding_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let engine = super::support::open(options(dir.path(), 4));
    let config = GroupConfig {
        group_id: 9,
        members: BTreeSet::from([4]),
        initial_rows: RowBatch::new(),
    };
    engine
        .create_replica(7, engine.options().node_id)
        .await
        .unwrap();
    engine
        .create_replica(7, engine.options().node_id)
        .await
        .unwrap();
    engine.create_group(config.clone()).await.unwrap();
    engine.close().await;
    let engine = super::support::open(options(dir.path(), 4));
    let founding = engine
        .create_group(GroupConfig {
            group_id: 7,
            ..config
        })
        .await;
    assert!(
        matches!(founding, Err(GroupError::Conflict(7))),
        "{founding:?}"
    );
    let joining = engine.create_replica(9, engine.options().node_id).await;
    assert!(
        matches!(joining, Err(GroupError::Conflict(9))),
        "{joining:?}"
    );
    // It waits: no vote, no leader, however long it stays alone.
    let group = super::support::open_group(&engine, 7, &std::sync::Arc::default()).await;
    let longest = engine.options().timing.election_max_ms;
    tokio::time::sleep(std::time::Duration::from_millis(3 * longest)).await;
    let status = group.status();
    assert_eq!(
        (status.term, status.leader, status.last_log_index),
        (0, None, 0)
    );
    engine.close().await;
    // case L17: a directory keeps the id it was made with, whoever opens it.
    let other = crate::Engine::open(
        options(dir.path(), 5),
        std::sync::Arc::new(crate::NoTransport),
    );
    let error = other.err();
    assert!(
        matches!(
            error,
            Some(OpenError::WrongNode {
                found: 4,
                expected: 5,
                ..
            })
        ),
        "{error:?}"
    );
}
