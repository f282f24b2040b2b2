//! A busy leader that purges, and followers that live but are slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::cluster::{
    Node, close_all, cluster_of, flush_again, leader_of, propose_many, temp_dirs,
};
use super::support::{count, options, until};
use crate::EngineOptions;
use crate::limits::TRANSFER_HOLD_FACTOR;
use crate::testing::{Fate, LocalNetwork, MessageKind};

const HOLD_ENTRIES: u64 = 10_000;

fn purging(dir: &std::path::Path, node_id: u64) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 20,
        log_keep_entries: 5,
        log_hold_entries: HOLD_ENTRIES,
        ..options(dir, node_id)
    }
}

fn installed(nodes: &[Node]) -> u64 {
    let installed = nodes
        .iter()
        .map(|node| node.engine.metrics().snapshots_installed);
    installed.sum()
}

/// Three nodes; the leader's place, and that of a follower whose appends are held while the flag is set.
async fn with_held_follower(
    network: &LocalNetwork,
    dirs: &[tempfile::TempDir],
    options: impl Fn(&std::path::Path, u64) -> EngineOptions,
) -> (Vec<Node>, usize, usize, Arc<AtomicBool>) {
    let nodes = cluster_of(network, dirs, options).await;
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    let slow = (leader + 1) % 3;
    let held = Arc::new(AtomicBool::new(true));
    let (is_held, slow_id) = (Arc::clone(&held), slow as u64 + 1);
    network.interfere(move |message| {
        let is_append = message.kind == MessageKind::Append && message.to == slow_id;
        match is_append && is_held.load(Ordering::SeqCst) {
            true => Fate::Hold,
            false => Fate::Pass,
        }
    });
    (nodes, leader, slow, held)
}

/// Followers that live never need a snapshot, however small the log that is kept otherwise, and the log is purged
/// once they have what it held.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slow_follower_needs_no_snapshot() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, purging).await;
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    let slow = (leader + 1) % 3;
    let slow_id = slow as u64 + 1;
    network.interfere(move |message| {
        match message.kind == MessageKind::Append && message.to == slow_id {
            true => Fate::Delay(Duration::from_millis(40)),
            false => Fate::Pass,
        }
    });
    propose_many(&nodes[leader].group, "key", 3000).await;
    let group = &nodes[leader].group;
    let status = group.status();
    assert!(status.purged_index > 0, "purged while it was busy");
    until("all have applied", || {
        nodes
            .iter()
            .all(|node| count(&node.engine, 7, "key") == 3000)
    })
    .await;
    until("nothing is held any more", || {
        let status = group.status();
        status.purged_index + 5 >= status.last_log_index
    })
    .await;
    assert_eq!(installed(&nodes), 0);
    close_all(nodes).await;
}

/// Held wholly, and for less than the bound: all of it is kept, though far more than is kept otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_live_follower_lacks_is_kept() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let (nodes, leader, slow, held) = with_held_follower(&network, &dirs, purging).await;
    let group = &nodes[leader].group;
    propose_many(group, "key", 500).await;
    flush_again(&nodes[leader], 3).await;
    let slow_id = slow as u64 + 1;
    let (purged, matched) = (
        group.status().purged_index,
        group.progress()[&slow_id].matched_index,
    );
    assert!(purged <= matched, "purged {purged}, it has {matched}");
    held.store(false, Ordering::SeqCst);
    until("it has caught up", || {
        count(&nodes[slow].engine, 7, "key") == 500
    })
    .await;
    assert_eq!(installed(&nodes), 0);
    close_all(nodes).await;
}

/// Held for longer than the bound: the log stays bounded, and the follower is fed by a snapshot at last.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_stays_bounded_whoever_is_slow() {
    let bounded = |dir: &std::path::Path, node_id| EngineOptions {
        log_hold_entries: 20,
        ..purging(dir, node_id)
    };
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let (nodes, leader, slow, held) = with_held_follower(&network, &dirs, bounded).await;
    let group = &nodes[leader].group;
    propose_many(group, "key", 1000).await;
    let most = 20 * TRANSFER_HOLD_FACTOR;
    until("the log is bounded", || {
        let status = group.status();
        status.purged_index + most >= status.last_log_index
    })
    .await;
    held.store(false, Ordering::SeqCst);
    until("it has caught up", || {
        count(&nodes[slow].engine, 7, "key") == 1000
    })
    .await;
    assert!(nodes[slow].engine.metrics().snapshots_installed >= 1);
    close_all(nodes).await;
}
