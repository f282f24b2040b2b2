//! Snapshots on their way to replicas that join: while writes go on, over a network that breaks, in bounded memory.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::cluster::{
    Node, close_all, election_timeouts, flush_again, join_node, lead, propose_many, rows,
    start_node_with, temp_dirs,
};
use super::support::{count, options, propose, until};
use crate::limits::{SNAPSHOT_CHUNK_BYTES, SNAPSHOT_READ_AHEAD, TRANSFER_HOLD_FACTOR};
use crate::testing::{Fate, LocalNetwork, MessageKind};
use crate::{EngineOptions, RowBatch};

const VALUE_BYTES: usize = 100_000;

fn purging(dir: &Path, node_id: u64) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 20,
        log_keep_entries: 5,
        log_hold_entries: 50,
        ..options(dir, node_id)
    }
}

/// Rows of 100 kB each, so that few of them make several chunks.
fn large_rows(count: u16) -> RowBatch {
    let mut rows = RowBatch::new();
    for number in 0..count {
        let key = [&[7, b'~'], &number.to_be_bytes()[..]].concat();
        rows.put(key, vec![number as u8; VALUE_BYTES]);
    }
    rows
}

async fn cluster(network: &LocalNetwork, dirs: &[tempfile::TempDir], large: u16) -> Vec<Node> {
    cluster_with(network, dirs, large, purging).await
}

async fn cluster_with(
    network: &LocalNetwork,
    dirs: &[tempfile::TempDir],
    large: u16,
    options: impl Fn(&Path, u64) -> EngineOptions,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (place, dir) in dirs.iter().enumerate().take(3) {
        let options = options(dir.path(), place as u64 + 1);
        nodes.push(start_node_with(network, options, large_rows(large)).await);
    }
    nodes
}

/// What is known of the snapshots to one node.
#[derive(Default)]
struct Watched {
    /// Streams begun.
    begun: AtomicU64,
    /// While set, no chunk behind the second gets through.
    is_held: AtomicBool,
}

fn hold_chunks(network: &LocalNetwork, to: u64) -> Arc<Watched> {
    let watched = Arc::new(Watched::default());
    watched.is_held.store(true, Ordering::SeqCst);
    let seen = Arc::clone(&watched);
    network.interfere(move |message| {
        if message.kind != MessageKind::Chunk || message.to != to {
            return Fate::Pass;
        }
        if message.place == 2 && seen.is_held.load(Ordering::SeqCst) {
            return Fate::Hold;
        }
        seen.begun
            .fetch_add(u64::from(message.place == 0), Ordering::SeqCst);
        Fate::Pass
    });
    watched
}

/// case L10: the log behind a long transfer is kept, far above what is kept otherwise, so one snapshot is enough.
/// Then the learner takes the place of a founder that is cut off and never learns of it: back again, that one neither
/// disturbs the group nor is it fed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_learner_is_fed_while_writes_go_on() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster(&network, &dirs, 60).await;
    let (leader, token) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "before", 50).await;
    let watched = hold_chunks(&network, 4);
    let joined = join_node(&network, purging(dirs[3].path(), 4)).await;
    let group = &nodes[leader].group;
    group.add_learner(token, 4).await.unwrap();
    until("the transfer has begun", || {
        watched.begun.load(Ordering::SeqCst) == 1
    })
    .await;
    let begun_at = group.status().last_log_index;
    propose_many(group, "meanwhile", 200).await;
    flush_again(&nodes[leader], 3).await;
    let status = group.status();
    assert!(status.purged_index <= begun_at, "{status:?}");
    watched.is_held.store(false, Ordering::SeqCst);
    until("it has everything", || {
        count(&joined.engine, 7, "meanwhile") == 200
    })
    .await;
    assert_eq!(joined.engine.metrics().snapshots_installed, 1);
    assert_eq!(rows(&joined), rows(&nodes[leader]));
    until("nothing is held any more", || {
        let status = group.status();
        status.purged_index + 5 >= status.last_log_index
    })
    .await;
    replaced_founder_is_harmless(&network, &nodes, &joined, leader).await;
    joined.engine.close().await;
    close_all(nodes).await;
}

async fn replaced_founder_is_harmless(
    network: &LocalNetwork,
    nodes: &[Node],
    joined: &Node,
    leader: usize,
) {
    let group = &nodes[leader].group;
    let token = super::support::leads(group).await;
    let removed = &nodes[(leader + 1) % 3];
    let removed_id = removed.engine.options().node_id;
    network.isolate(removed_id);
    let voters: BTreeSet<u64> = (1..=4).filter(|id| *id != removed_id).collect();
    group.change_voters(token, voters.clone()).await.unwrap();
    propose(group, "after").await;
    let (before, known) = (group.status(), removed.group.status());
    assert!(known.voters.contains(&removed_id), "it knows of nothing");
    election_timeouts(removed, 2).await;
    network.heal();
    election_timeouts(removed, 4).await;
    let (after, still) = (group.status(), removed.group.status());
    assert!(after.is_leader);
    assert_eq!((after.term, &after.voters), (before.term, &voters));
    assert_eq!(still.last_log_index, known.last_log_index);
    assert_eq!((still.is_leader, still.term), (false, known.term));
    assert!(!group.progress().contains_key(&removed_id));
    propose(group, "after").await;
    until("the new voter follows", || {
        count(&joined.engine, 7, "after") == 2
    })
    .await;
    assert_eq!(count(&removed.engine, 7, "after"), 0);
}

/// Even so the log is bounded: when more is written than may be held, the learner needs a second snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_behind_a_transfer_is_bounded() {
    let short = |dir: &Path, node_id| EngineOptions {
        log_hold_entries: 20,
        ..purging(dir, node_id)
    };
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster_with(&network, &dirs, 40, short).await;
    let (leader, token) = lead(&nodes).await;
    let watched = hold_chunks(&network, 4);
    let joined = join_node(&network, short(dirs[3].path(), 4)).await;
    let group = &nodes[leader].group;
    group.add_learner(token, 4).await.unwrap();
    until("the transfer has begun", || {
        watched.begun.load(Ordering::SeqCst) == 1
    })
    .await;
    propose_many(group, "key", 500).await;
    let most = 20 * TRANSFER_HOLD_FACTOR;
    until("the log is bounded", || {
        let status = group.status();
        status.purged_index + most >= status.last_log_index
    })
    .await;
    watched.is_held.store(false, Ordering::SeqCst);
    until("it has everything", || {
        count(&joined.engine, 7, "key") == 500
    })
    .await;
    assert!(watched.begun.load(Ordering::SeqCst) >= 2);
    joined.engine.close().await;
    close_all(nodes).await;
}

/// case L25: a stream that ends in its middle, one with a changed byte and one with a chunk missing are each thrown
/// away whole; the next begins from zero and succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_broken_transfer_begins_again() {
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster(&network, &dirs, 60).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    let begun = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&begun);
    network.interfere(move |message| {
        if message.kind != MessageKind::Chunk {
            return Fate::Pass;
        }
        let attempt = seen.fetch_add(u64::from(message.place == 0), Ordering::SeqCst)
            + u64::from(message.place == 0);
        match (message.place, attempt) {
            (3, 1) => Fate::Lose,
            (3, 2) => Fate::Spoil,
            (3, 3) => Fate::Skip,
            _ => Fate::Pass,
        }
    });
    let joined = join_node(&network, purging(dirs[3].path(), 4)).await;
    nodes[leader].group.add_learner(token, 4).await.unwrap();
    until("it has everything", || count(&joined.engine, 7, "key") == 1).await;
    assert_eq!(begun.load(Ordering::SeqCst), 4);
    assert_eq!(joined.engine.metrics().snapshots_installed, 1);
    assert_eq!(rows(&joined), rows(&nodes[leader]));
    let staging = joined.engine.options().dir.join("staging");
    until("nothing is left of the broken ones", || {
        std::fs::read_dir(&staging).unwrap().next().is_none()
    })
    .await;
    joined.engine.close().await;
    close_all(nodes).await;
}

/// case L11: a transfer to a node that takes nothing holds up no change of members, and ends when its receiver is
/// removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stuck_transfer_holds_up_nothing() {
    let (dirs, network) = (temp_dirs(5), LocalNetwork::default());
    let nodes = cluster(&network, &dirs, 60).await;
    let (leader, token) = lead(&nodes).await;
    let group = &nodes[leader].group;
    let watched = hold_chunks(&network, 4);
    let stuck = join_node(&network, purging(dirs[3].path(), 4)).await;
    group.add_learner(token, 4).await.unwrap();
    until("the transfer is stuck", || {
        watched.begun.load(Ordering::SeqCst) == 1
            && nodes[leader].engine.metrics().snapshot_out_bytes > 0
    })
    .await;
    let joined = join_node(&network, purging(dirs[4].path(), 5)).await;
    group.add_learner(token, 5).await.unwrap();
    until("the other learner is fed", || {
        let status = group.status();
        group.progress()[&5].matched_index == status.last_log_index
    })
    .await;
    let removed = (leader as u64 + 1) % 3 + 1;
    let voters: BTreeSet<u64> = [1, 2, 3, 5]
        .into_iter()
        .filter(|id| *id != removed)
        .collect();
    group.change_voters(token, voters.clone()).await.unwrap();
    assert_eq!(group.status().learners, BTreeSet::from([4]));
    assert!(nodes[leader].engine.metrics().snapshot_out_bytes > 0);
    group.remove_learner(token, 4).await.unwrap();
    until("the transfer has ended", || {
        nodes[leader].engine.metrics().snapshot_out_bytes == 0
    })
    .await;
    assert_eq!(group.status().voters, voters);
    assert_eq!(stuck.engine.metrics().snapshots_installed, 0);
    propose(group, "key").await;
    stuck.engine.close().await;
    joined.engine.close().await;
    close_all(nodes).await;
}

/// case L13: the whole log is purged, nothing is written, and a learner that comes only now is fed all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_learner_is_fed_from_a_log_that_is_purged_whole() {
    let nothing_kept = |dir: &Path, node_id| EngineOptions {
        log_keep_entries: 0,
        ..purging(dir, node_id)
    };
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster_with(&network, &dirs, 1, nothing_kept).await;
    let (leader, token) = lead(&nodes).await;
    let group = &nodes[leader].group;
    propose_many(group, "key", 20).await;
    group.add_learner(token, 4).await.unwrap();
    let last = group.status().last_log_index;
    until("all is purged", || group.status().purged_index == last).await;
    let joined = join_node(&network, nothing_kept(dirs[3].path(), 4)).await;
    until("it has everything", || {
        count(&joined.engine, 7, "key") == 20
    })
    .await;
    assert_eq!(group.status().last_log_index, last, "nothing was written");
    joined.engine.close().await;
    close_all(nodes).await;
}

/// However large the state, a few chunks are in memory on either side, also when the receiver is slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transfer_takes_the_memory_of_a_few_chunks() {
    const LARGE_ROWS: u16 = 320;
    let (dirs, network) = (temp_dirs(4), LocalNetwork::default());
    let nodes = cluster(&network, &dirs, LARGE_ROWS).await;
    let (leader, token) = lead(&nodes).await;
    network.interfere(|message| match message.kind {
        MessageKind::Chunk => Fate::Delay(Duration::from_millis(5)),
        _ => Fate::Pass,
    });
    let joined = join_node(&network, purging(dirs[3].path(), 4)).await;
    nodes[leader].group.add_learner(token, 4).await.unwrap();
    until("it is installed", || {
        joined.engine.metrics().snapshots_installed == 1
    })
    .await;
    assert_eq!(rows(&joined).len(), usize::from(LARGE_ROWS));
    let (sender, receiver) = (nodes[leader].engine.metrics(), joined.engine.metrics());
    let chunk = (SNAPSHOT_CHUNK_BYTES + VALUE_BYTES) as u64;
    let state = u64::from(LARGE_ROWS) * VALUE_BYTES as u64;
    // Read ahead, one that waits to be, one on its way.
    let most_out = (SNAPSHOT_READ_AHEAD as u64 + 2) * chunk;
    // One that waits, one that is written, one that arrives.
    let most_in = 3 * chunk;
    assert!(state > 5 * most_out);
    assert!(
        (chunk / 2..=most_out).contains(&sender.snapshot_out_peak_bytes),
        "{sender:?}"
    );
    assert!(
        (chunk / 2..=most_in).contains(&receiver.snapshot_in_peak_bytes),
        "{receiver:?}"
    );
    assert_eq!(
        (sender.snapshot_out_bytes, receiver.snapshot_in_bytes),
        (0, 0)
    );
    joined.engine.close().await;
    close_all(nodes).await;
}
