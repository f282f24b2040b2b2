//! Three replicas in one process.

use bytes::Bytes;

use super::cluster::{Node, close_all, cluster_of, leader_of, start_node, temp_dirs};
use super::support::{count, leads, options, propose, until};
use crate::testing::LocalNetwork;
use crate::{ControlError, ProposeError, ReadError};

async fn cluster(dirs: &[tempfile::TempDir]) -> (LocalNetwork, Vec<Node>) {
    let network = LocalNetwork::default();
    let nodes = cluster_of(&network, dirs, options).await;
    (network, nodes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn elect_replicate_and_survive_the_loss_of_the_leader() {
    let dirs = temp_dirs(3);
    let (network, mut nodes) = cluster(&dirs).await;
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    for _ in 0..50 {
        propose(&nodes[leader].group, "key").await;
    }
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 50)
    })
    .await;
    let follower = (leader + 1) % 3;
    let refused = nodes[follower].group.confirm_leadership().await;
    assert_eq!(
        refused,
        Err(ReadError::NotLeader {
            hint: Some(leader as u64 + 1)
        })
    );
    // The leader goes; the others go on; it comes back and catches up.
    let gone = nodes.remove(leader);
    let lost_id = gone.engine.options().node_id;
    gone.engine.close().await;
    drop(gone);
    let next = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    for _ in 0..50 {
        propose(&nodes[next].group, "key").await;
    }
    nodes[next].group.confirm_leadership().await.unwrap();
    let back = start_node(
        &network,
        options(dirs[lost_id as usize - 1].path(), lost_id),
    )
    .await;
    until("it has caught up", || count(&back.engine, 7, "key") == 100).await;
    nodes.push(back);
    close_all(nodes).await;
}

/// A leader that is cut off acknowledges nothing, confirms nothing, and its leftovers give way to what the others
/// committed; a token of its time is refused for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deposed_leader_is_fenced() {
    let dirs = temp_dirs(3);
    let (network, nodes) = cluster(&dirs).await;
    let all: Vec<_> = nodes.iter().collect();
    let old = leader_of(&all).await;
    propose(&nodes[old].group, "key").await;
    let token = leads(&nodes[old].group).await;
    network.isolate(old as u64 + 1);
    let doubtful = nodes[old]
        .group
        .submit(token, Bytes::from_static(b"doubtful"))
        .await
        .unwrap();
    let unconfirmed = nodes[old].group.confirm_leadership().await;
    assert!(unconfirmed.is_err(), "{unconfirmed:?}");
    let others: Vec<_> = nodes
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != old)
        .map(|(_, node)| node)
        .collect();
    let new = leader_of(&others).await;
    propose(&others[new].group, "key").await;
    network.heal();
    let outcome = doubtful.await;
    assert!(outcome.is_err(), "{outcome:?}");
    until("the old leader has caught up", || {
        count(&nodes[old].engine, 7, "key") == 2
    })
    .await;
    assert_eq!(count(&nodes[old].engine, 7, "doubtful"), 0);
    let last = nodes[old].group.last_received().unwrap();
    assert_eq!(
        last.payload.as_ref(),
        b"key",
        "what was truncated is not the last entry"
    );
    for node in &nodes {
        let refused = node.group.propose(token, Bytes::from_static(b"late")).await;
        assert!(
            matches!(refused, Err(ProposeError::NotLeader { .. })),
            "{refused:?}"
        );
    }
    close_all(nodes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn leadership_is_transferred_to_a_voter_that_is_caught_up() {
    let dirs = temp_dirs(3);
    let (network, nodes) = cluster(&dirs).await;
    let all: Vec<_> = nodes.iter().collect();
    let old = leader_of(&all).await;
    propose(&nodes[old].group, "key").await;
    assert_eq!(
        nodes[old].group.transfer_leader(9).await,
        Err(ControlError::BadTarget(9))
    );
    let target = (old + 1) % 3;
    assert_eq!(
        nodes[target].group.transfer_leader(old as u64 + 1).await,
        Err(ControlError::NotLeader)
    );
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 1)
    })
    .await;
    let mut accepted = Err(ControlError::NotLeader);
    for _ in 0..100 {
        accepted = nodes[old].group.transfer_leader(target as u64 + 1).await;
        if accepted.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(accepted, Ok(()));
    until("the target leads", || {
        nodes[target].group.status().is_leader
    })
    .await;
    propose(&nodes[target].group, "key").await;
    drop(network);
    close_all(nodes).await;
}

/// The leader's process is known to be dead (here: cut off): a follower takes over without waiting for a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_follower_takes_over_when_told() {
    let dirs = temp_dirs(3);
    let (network, nodes) = cluster(&dirs).await;
    let all: Vec<_> = nodes.iter().collect();
    let old = leader_of(&all).await;
    propose(&nodes[old].group, "key").await;
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 1)
    })
    .await;
    let term = nodes[old].group.status().term;
    let target = (old + 1) % 3;
    network.isolate(old as u64 + 1);
    nodes[target].group.trigger_election().await.unwrap();
    until("the target leads", || {
        nodes[target].group.status().is_leader
    })
    .await;
    assert!(nodes[target].group.status().term > term);
    propose(&nodes[target].group, "key").await;
    network.heal();
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 2)
    })
    .await;
    close_all(nodes).await;
}

/// The time rule: followers know when they received the last user entry, in this run only.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_know_the_last_stamp_they_received() {
    let dirs = temp_dirs(3);
    let (network, mut nodes) = cluster(&dirs).await;
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    let reply = propose(&nodes[leader].group, "key:stamp").await;
    let known = |node: &Node| {
        node.group
            .last_received()
            .is_some_and(|last| last.index == reply.index)
    };
    until("all have received it", || nodes.iter().all(known)).await;
    assert!(nodes.iter().all(|node| {
        node.group
            .last_received()
            .is_some_and(|last| last.received.is_some())
    }));
    let follower = nodes.remove((leader + 1) % 3);
    let id = follower.engine.options().node_id;
    follower.engine.close().await;
    drop(follower);
    let back = start_node(&network, options(dirs[id as usize - 1].path(), id)).await;
    let last = back.group.last_received().unwrap();
    assert_eq!((last.index, last.received), (reply.index, None));
    nodes.push(back);
    close_all(nodes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_share_rounds() {
    let dirs = temp_dirs(3);
    let (_network, nodes) = cluster(&dirs).await;
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    let group = &nodes[leader].group;
    let reply = propose(group, "key").await;
    let before = nodes[leader].engine.metrics();
    let reads = (0..1000).map(|_| group.confirm_leadership());
    for confirmed in futures::future::join_all(reads).await {
        let confirmed = confirmed.unwrap();
        assert!(confirmed.applied_index >= reply.index);
        assert_eq!(confirmed.term, reply.term);
    }
    let after = nodes[leader].engine.metrics();
    assert_eq!(after.reads_confirmed - before.reads_confirmed, 1000);
    assert!(
        after.read_rounds - before.read_rounds <= 100,
        "{} rounds",
        after.read_rounds - before.read_rounds
    );
    close_all(nodes).await;
}
