//! Replicas that come back to a group that has removed them, or to whose node it has come back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::cluster::{
    Node, close_all, cluster_of, election_timeouts, lead, propose_many, rows, temp_dirs,
};
use super::parts::{child, keys, open_part, parent, said};
use super::removal::returned;
use super::support::{PATIENCE, leads, open_group, options, propose, until};
use crate::testing::{Fate, LocalNetwork, MessageKind};
use crate::wire::{VoteMsg, VoteRequestMsg, encode};
use crate::{CallKind, Engine, Group, GroupState, TransportError};

/// Makes the replica of a node another one, as its node does when the map says so.
async fn comes_back(node: &mut Node, times: u64) {
    let own = node.group.replica();
    let next = returned(node.engine.options().node_id, times);
    node.engine.remove_group(7, own).await.unwrap();
    node.engine.create_replica(7, next).await.unwrap();
    node.group = open_group(&node.engine, 7, &node.seen).await;
}

/// Asks a node for a vote under a high term, as if it were a replica.
async fn asked(node: &Node, to: u64) -> Result<bytes::Bytes, TransportError> {
    let vote = VoteMsg {
        term: 1,
        node_id: 1,
        committed: false,
    };
    let request = VoteRequestMsg {
        vote,
        last_log_id: None,
        leadership_transfer: false,
        to,
    };
    let bytes = encode(&request);
    node.engine.receive_call(7, CallKind::PreVote, &bytes).await
}

/// A leader that has not heard of the removal sends to the removed id: what the returned replica, which has nothing, would
/// answer is not counted as that one's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_returned_replica_does_not_answer_for_its_removed_id() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 30).await;
    let (back, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let old = back as u64 + 1;
    until("all have all", || {
        nodes.iter().all(|node| rows(node) == rows(&nodes[leader]))
    })
    .await;
    network.isolate(other as u64 + 1);
    comes_back(&mut nodes[back], 1).await;
    let doubtful = nodes[leader].group.submit(token, "key".into());
    let doubtful = doubtful.await.unwrap();
    let before = nodes[leader].group.status().committed_index;
    election_timeouts(&nodes[leader], 3).await;
    assert_eq!(nodes[leader].group.status().committed_index, before);
    assert_eq!(nodes[back].group.status().last_log_index, 0, "nothing came");
    let no_replica = TransportError::NoReplica {
        group_id: 7,
        replica: old,
    };
    assert_eq!(asked(&nodes[back], old).await, Err(no_replica));
    // A version of before names nobody, and means the first replica of a process.
    let nobody = asked(&nodes[back], 0).await;
    assert!(
        matches!(nobody, Err(TransportError::NoReplica { replica: 0, .. })),
        "{nobody:?}"
    );
    asked(&nodes[back], returned(old, 1)).await.unwrap();
    asked(&nodes[other], 0).await.unwrap();

    network.heal();
    drop(doubtful);
    let new = returned(old, 1);
    let voters: BTreeSet<u64> = (1..=3).map(|id| if id == old { new } else { id }).collect();
    let joining = async {
        while !joins(&nodes, back, &voters).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, joining).await.unwrap();
    let (leader, _) = lead_of_two(&nodes, back).await;
    propose(&nodes[leader].group, "key").await;
    until("it has all", || rows(&nodes[back]) == rows(&nodes[leader])).await;
    assert_eq!(nodes[back].group.status().voters, voters);
    close_all(nodes).await;
}

/// Makes one of three a voter in place of the one it was; false if leadership was lost on the way.
async fn joins(nodes: &[Node], back: usize, voters: &BTreeSet<u64>) -> bool {
    let (leader, token) = lead_of_two(nodes, back).await;
    let (group, new) = (&nodes[leader].group, nodes[back].group.replica());
    match group.add_learner(token, new).await {
        Ok(()) => group.change_voters(token, voters.clone()).await.is_ok(),
        Err(_) => false,
    }
}

/// Who leads while one of three takes no part.
async fn lead_of_two(nodes: &[Node], without: usize) -> (usize, crate::LeadershipToken) {
    let of_two = |place: usize| place != without && nodes[place].group.status().is_leader;
    until("one of two leads", || (0..3).any(of_two)).await;
    let leader = (0..3).find(|place| of_two(*place)).unwrap();
    (leader, leads(&nodes[leader].group).await)
}

/// A replica that was removed while its node was down wakes up with all it had: it disturbs nobody, is removed here too, and
/// the node can come back as another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_removed_replica_that_wakes_up_disturbs_nobody_and_goes() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 30).await;
    let asleep = (leader + 1) % 3;
    let old = asleep as u64 + 1;
    network.isolate(old);
    let group = nodes[leader].group.clone();
    let voters: BTreeSet<u64> = (1..=3).filter(|id| *id != old).collect();
    group.change_voters(token, voters.clone()).await.unwrap();
    propose(&group, "key").await;
    let term = group.status().term;
    network.heal();
    election_timeouts(&nodes[asleep], 5).await;
    let status = group.status();
    assert_eq!((status.term, status.is_leader), (term, true));
    comes_back(&mut nodes[asleep], 1).await;
    assert_eq!(rows(&nodes[asleep]), []);
    let new = returned(old, 1);
    group.add_learner(token, new).await.unwrap();
    until("it is fed", || rows(&nodes[asleep]) == rows(&nodes[leader])).await;
    close_all(nodes).await;
}

/// One node with group 7.
async fn node(network: &LocalNetwork, dir: &std::path::Path, node_id: u64) -> Arc<Engine> {
    let engine = Engine::open(options(dir, node_id), network.transport(node_id)).unwrap();
    network.attach(&engine);
    engine
}

async fn leader(groups: &[Group]) -> usize {
    let find = || groups.iter().position(|group| group.status().is_leader);
    until("a leader", || find().is_some()).await;
    find().unwrap_or_default()
}

/// A replica missed the split, and the child comes back to its node meanwhile under a later id. Its rows are the parent's here
/// until that has applied the split: no snapshot of the child comes in before, whether the parent is open or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_child_is_not_fed_while_its_parent_here_owns_the_rows() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let (mut engines, mut sevens) = (Vec::new(), Vec::new());
    for (place, dir) in dirs.iter().enumerate() {
        let engine = node(&network, dir.path(), place as u64 + 1).await;
        sevens.push(parent(&engine, &[1, 2, 3]).await);
        engines.push(engine);
    }
    let first = leader(&sevens).await;
    for key in ["a", "x-old"] {
        said(&sevens[first], &format!("put {key}")).await;
    }
    let all_have = |count: usize| move |engine: &Arc<Engine>| keys(engine).len() == count;
    until("all have both", || engines.iter().all(all_have(2))).await;
    let behind = (first + 1) % 3;
    sevens.remove(behind);
    let id = behind as u64 + 1;
    engines.remove(behind).close().await;
    let at = leader(&sevens).await;
    said(&sevens[at], "split 8 m").await;
    let mut eights = Vec::new();
    for engine in &engines {
        until("the split is applied", || {
            let meta = engine.state().get(&[b'm', 8]);
            meta.is_ok_and(|row| row.is_some())
        })
        .await;
        eights.push(child(engine).await);
    }
    let child_at = leader(&eights).await;
    said(&eights[child_at], "put y").await;

    let (offered, lets_parent) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let (seen, lets) = (Arc::clone(&offered), Arc::clone(&lets_parent));
    network.interfere(move |message| {
        let is_first_chunk = message.kind == MessageKind::Chunk && message.place == 0;
        seen.fetch_add(u64::from(is_first_chunk), Ordering::SeqCst);
        match message.to == id && message.group_id == 7 && !lets.load(Ordering::SeqCst) {
            true => Fate::Lose,
            false => Fate::Pass,
        }
    });
    let back = node(&network, dirs[behind].path(), id).await;
    back.create_replica(8, returned(id, 1)).await.unwrap();
    let fed = open_part(&back, 8).await;
    let token = leads(&eights[child_at]).await;
    eights[child_at]
        .add_learner(token, returned(id, 1))
        .await
        .unwrap();
    let refused = |more: u64| {
        let enough = offered.load(Ordering::SeqCst) + more;
        let offered = Arc::clone(&offered);
        move || offered.load(Ordering::SeqCst) >= enough
    };
    until("it is offered", refused(3)).await;
    assert_eq!(keys(&back), ["a", "x-old"], "the parent is not open");
    let seven = open_part(&back, 7).await;
    until("it is offered again", refused(3)).await;
    assert_eq!(keys(&back), ["a", "x-old"], "the parent is open");
    assert_eq!(back.metrics().snapshots_installed, 0);
    assert_eq!(fed.status().state, GroupState::Running);

    lets_parent.store(true, Ordering::SeqCst);
    until("it has all", || keys(&back) == ["a", "x-old", "y"]).await;
    assert_eq!(said(&eights[child_at], "put z").await, "done");
    let at = leader(&sevens).await;
    assert_eq!(said(&sevens[at], "put b").await, "done");
    until("both go on", || {
        keys(&back) == ["a", "b", "x-old", "y", "z"]
    })
    .await;
    for group in [&seven, &fed] {
        assert_eq!(group.status().state, GroupState::Running);
    }
    back.close().await;
    for engine in engines {
        engine.close().await;
    }
}
