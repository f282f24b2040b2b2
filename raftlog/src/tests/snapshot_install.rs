//! Snapshots between replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::StreamExt;

use super::cluster::{Node, leader_of, rows, start_node, temp_dirs};
use super::support::{Hook, count, leads, options, propose, until};
use crate::testing::LocalNetwork;
use crate::{CallKind, DiskStep, EngineOptions, TransportError};

fn purging(dir: &std::path::Path, node_id: u64) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 50,
        log_keep_entries: 5,
        ..options(dir, node_id)
    }
}

/// Three nodes; the third is stopped while the others purge what it misses. Its id, directory and the others.
async fn left_behind(
    dirs: &[tempfile::TempDir],
    network: &LocalNetwork,
    rows: usize,
) -> (Vec<Node>, usize) {
    let mut nodes = Vec::new();
    for (place, dir) in dirs.iter().enumerate() {
        nodes.push(start_node(network, purging(dir.path(), place as u64 + 1)).await);
    }
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    propose(&nodes[leader].group, "old").await;
    until("all have applied", || {
        nodes.iter().all(|node| count(&node.engine, 7, "old") == 1)
    })
    .await;
    let behind = (leader + 1) % 3;
    let gone = nodes.remove(behind);
    gone.engine.close().await;
    drop(gone);
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    let token = leads(&nodes[leader].group).await;
    let mut pending = Vec::new();
    for number in 0..rows {
        let payload = Bytes::from(format!("row {number:08}"));
        pending.push(nodes[leader].group.submit(token, payload).await.unwrap());
        if pending.len() == 1000 {
            for reply in pending.drain(..) {
                reply.await.unwrap();
            }
        }
    }
    for reply in pending {
        reply.await.unwrap();
    }
    until("the logs are purged", || {
        nodes.iter().all(|node| {
            let status = node.group.status();
            status.last_log_index > rows as u64 && status.purged_index + 6 >= status.last_log_index
        })
    })
    .await;
    (nodes, behind)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_that_missed_purged_entries_gets_a_snapshot() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let (nodes, behind) = left_behind(&dirs, &network, 5_000).await;
    let back = start_node(&network, purging(dirs[behind].path(), behind as u64 + 1)).await;
    until("a snapshot is installed", || {
        back.engine.metrics().snapshots_installed >= 1
    })
    .await;
    until("rows are the same", || rows(&back) == rows(&nodes[0])).await;
    assert_eq!(rows(&back).len(), 5_001);
    assert!(back.seen.restored.load(Ordering::SeqCst) >= 1);
    // It goes on by log, and has everything after a restart.
    let all = [&nodes[0], &nodes[1], &back];
    let leader = leader_of(&all).await;
    propose(&all[leader].group, "new").await;
    until("it follows by log", || count(&back.engine, 7, "new") == 1).await;
    back.engine.close().await;
    drop(back);
    let back = start_node(&network, purging(dirs[behind].path(), behind as u64 + 1)).await;
    until("it has all after a restart", || {
        count(&back.engine, 7, "new") == 1 && rows(&back).len() == 5_002
    })
    .await;
    for node in nodes {
        node.engine.close().await;
    }
    back.engine.close().await;
}

/// A failure at the ingestion leaves the rows as they were; after the recovery the snapshot comes again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failed_ingestion_is_done_again() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let (nodes, behind) = left_behind(&dirs, &network, 500).await;
    let failed = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&failed);
    let hook = Hook(move |step| {
        if step == DiskStep::Ingest && !once.swap(true, Ordering::SeqCst) {
            return Err(std::io::Error::from_raw_os_error(5));
        }
        Ok(())
    });
    let options = purging(dirs[behind].path(), behind as u64 + 1);
    let back = start_node(
        &network,
        EngineOptions {
            faults: Some(Arc::new(hook)),
            ..options
        },
    )
    .await;
    until("the ingestion has failed", || failed.load(Ordering::SeqCst)).await;
    until("rows are the same", || rows(&back) == rows(&nodes[0])).await;
    assert_eq!(back.engine.metrics().disk_recoveries, 1);
    for node in nodes {
        node.engine.close().await;
    }
    back.engine.close().await;
}

/// What is not whole changes nothing and is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn malformed_snapshots_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = super::support::open(options(dir.path(), 1));
    let group = super::support::sole_group(&engine, 7, &Arc::default()).await;
    propose(&group, "key").await;
    for chunks in [
        vec![],
        vec![Bytes::from_static(b"garbage")],
        vec![Bytes::new()],
    ] {
        let refused = engine
            .receive_snapshot(7, futures::stream::iter(chunks).boxed())
            .await;
        assert!(
            matches!(refused, Err(TransportError::Malformed(_))),
            "{refused:?}"
        );
    }
    for kind in [
        CallKind::Vote,
        CallKind::PreVote,
        CallKind::TransferLeader,
        CallKind::Heartbeat,
    ] {
        let refused = engine.receive_call(7, kind, b"garbage").await;
        assert!(
            matches!(refused, Err(TransportError::Malformed(_))),
            "{kind:?}: {refused:?}"
        );
    }
    let unknown = engine
        .receive_snapshot(8, futures::stream::empty().boxed())
        .await;
    assert_eq!(unknown.err(), Some(TransportError::NoGroup(8)));
    assert_eq!(count(&engine, 7, "key"), 1);
    engine.close().await;
}
