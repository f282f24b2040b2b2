//! Replicas that come back with less than they had.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::cluster::{
    Node, close_all, cluster_of, join_node, lead, leader_of, propose_many, rows, start_node,
    temp_dirs,
};
use super::support::{copy_dir, count, options, propose, until};
use crate::testing::{Fate, LocalNetwork, MessageKind};
use crate::{EngineOptions, GroupState};

/// case L17: a node that lost its disk comes back under a new id: it joins, takes the place of its old id, and then
/// everything that was acknowledged survives the loss of another node.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_wiped_node_rejoins_under_a_new_id() {
    const NEXT_INCARNATION: u64 = 1 << 32;
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 30).await;
    let wiped = (leader + 1) % 3;
    let old_id = wiped as u64 + 1;
    let new_id = old_id + NEXT_INCARNATION;
    nodes[wiped].engine.close().await;
    let back = join_node(&network, options(dirs[3].path(), new_id)).await;
    let group = &nodes[leader].group;
    group.add_learner(token, new_id).await.unwrap();
    until("it is caught up", || {
        group.progress()[&new_id].matched_index == group.status().last_log_index
    })
    .await;
    let mut voters: BTreeSet<u64> = (1..=3).filter(|id| *id != old_id).collect();
    voters.insert(new_id);
    group.change_voters(token, voters.clone()).await.unwrap();
    propose(group, "key").await;
    nodes[wiped] = back;
    let gone = nodes.swap_remove(leader);
    gone.engine.close().await;
    drop(gone);
    let (next, _) = lead(&nodes).await;
    assert_eq!(nodes[next].group.status().voters, voters);
    propose(&nodes[next].group, "key").await;
    until("both have all", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 32)
    })
    .await;
    close_all(nodes).await;
}

/// case L17: what must not happen, an empty disk under an old id: nothing is acknowledged on the strength of what that
/// replica had once, the leader goes on, and does not busy itself with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_empty_disk_under_an_old_id_is_not_counted() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs[..3], options).await;
    let (leader, token) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 30).await;
    let (wiped, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let wiped_id = wiped as u64 + 1;
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "key") == 30)
    })
    .await;
    nodes[wiped].engine.close().await;
    let appends = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&appends);
    network.interfere(move |message| {
        let is_append = message.kind == MessageKind::Append && message.to == wiped_id;
        seen.fetch_add(u64::from(is_append), Ordering::SeqCst);
        Fate::Pass
    });
    nodes[wiped] = start_node(&network, options(dirs[3].path(), wiped_id)).await;
    network.isolate(other as u64 + 1);
    let payload = bytes::Bytes::from_static(b"key");
    let doubtful = nodes[leader].group.submit(token, payload).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(2), doubtful).await;
    if let Ok(Ok(reply)) = answer {
        assert!(nodes[wiped].group.status().last_log_index >= reply.index);
        until("it has everything again", || {
            rows(&nodes[wiped]) == rows(&nodes[leader])
        })
        .await;
    }
    let appended = appends.load(Ordering::SeqCst);
    assert!(appended < 1000, "{appended} appends in vain");
    assert_eq!(nodes[leader].group.status().state, GroupState::Running);
    network.heal();
    let next = lead_without(&nodes, wiped).await;
    propose(&nodes[next].group, "key").await;
    assert!(count(&nodes[next].engine, 7, "key") >= 31);
    close_all(nodes).await;
}

/// case L26: a replica whose rows are newer than its log (a snapshot was ingested, the power went before its log was
/// purged) drops that log and goes on from the rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_log_older_than_the_rows_is_dropped() {
    let purging = |dir: &Path, node_id| EngineOptions {
        flush_interval_ms: 20,
        log_keep_entries: 5,
        ..options(dir, node_id)
    };
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs, purging).await;
    let (leader, _) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 20).await;
    let behind = (leader + 1) % 3;
    until("it has applied", || {
        count(&nodes[behind].engine, 7, "key") == 20
    })
    .await;
    let (dir, behind_id) = (dirs[behind].path(), behind as u64 + 1);
    nodes[behind].engine.close().await;
    let older = tempfile::tempdir().unwrap();
    copy_dir(&dir.join("log"), &older.path().join("log"));
    let leader = lead_without(&nodes, behind).await;
    propose_many(&nodes[leader].group, "key", 200).await;
    until("what it lacks is purged", || {
        nodes[leader].group.status().purged_index > 100
    })
    .await;
    nodes[behind] = start_node(&network, purging(dir, behind_id)).await;
    until("a snapshot is installed", || {
        count(&nodes[behind].engine, 7, "key") == 220
    })
    .await;
    assert!(nodes[behind].engine.metrics().snapshots_installed >= 1);
    nodes[behind].engine.close().await;
    std::fs::remove_dir_all(dir.join("log")).unwrap();
    copy_dir(&older.path().join("log"), &dir.join("log"));
    nodes[behind] = start_node(&network, purging(dir, behind_id)).await;
    assert_eq!(count(&nodes[behind].engine, 7, "key"), 220);
    let (leader, _) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    until("it follows", || {
        count(&nodes[behind].engine, 7, "key") == 221
    })
    .await;
    close_all(nodes).await;
}

/// The leader's place among all but one.
async fn lead_without(nodes: &[Node], without: usize) -> usize {
    let places: Vec<_> = (0..nodes.len()).filter(|place| *place != without).collect();
    let rest: Vec<_> = places.iter().map(|place| &nodes[*place]).collect();
    places[leader_of(&rest).await]
}
