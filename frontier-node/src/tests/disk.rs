//! A full disk: refused by name, nothing acknowledged is lost, recovers by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::CallError;
use proto::frontier_v1 as pb;

use super::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_by_name_and_recovered_from() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(FullDisk::default());
    let mut options = options(dir.path(), 1);
    options.engine.faults = Some(disk.clone());
    let node = open(options).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let mut acknowledged = 0;
    let mut refusals: Vec<CallError> = Vec::new();
    let is_named = |error: &CallError| matches!(error, CallError::Unavailable { reason, .. } if reason.contains("disk full"));
    let mut number = 0;
    // With room; without, until the reason is told; with room again.
    for (is_full, least) in [(false, 100), (true, 100), (false, 200)] {
        disk.0.store(is_full, Ordering::Release);
        let mut tries = 0;
        while tries < least || (is_full && !refusals.iter().any(is_named)) {
            tries += 1;
            number += 1;
            assert!(tries < 5_000, "never named: {:?}", refusals.last());
            let items = vec![link(&format!("http://h{number}.example/"))];
            match frontier
                .discover(pb::DiscoverRequest { shard: 1, items })
                .await
            {
                Ok(_) => acknowledged += 1,
                Err(error) => refusals.push(error),
            }
            if !refusals.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    assert!(acknowledged >= 100);
    assert!(refusals.iter().all(CallError::is_retryable), "{refusals:?}");
    // It works again.
    let mut tries = 0;
    loop {
        let items = vec![link("http://after.example/")];
        if frontier
            .discover(pb::DiscoverRequest { shard: 1, items })
            .await
            .is_ok()
        {
            break;
        }
        tries += 1;
        assert!(tries < 1_000, "no recovery");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = status(&frontier, 1).await;
    assert!(status.terms.unwrap().accepted > acknowledged, "{status:?}");
    assert_conserved(&status);
    node.close().await;
}
