//! Flush and purge rules.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::counter_machine::Seen;
use super::support::{
    Hook, PATIENCE, copy_dir, count, open, open_group, options, propose, sole_group, until,
};
use crate::{DiskStep, EngineOptions};

fn small(dir: &Path) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 50,
        log_keep_entries: 10,
        ..options(dir, 1)
    }
}

/// case L14: a quiet node flushes and purges by time, with nobody asking.
#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_group_is_flushed_and_purged() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(small(dir.path()));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for _ in 0..50 {
        propose(&group, "key").await;
    }
    let last = group.status().last_log_index;
    until("the log is purged", || {
        group.status().purged_index == last - 10
    })
    .await;
    assert_eq!(group.status().flushed_index, last);
    assert!(engine.metrics().purged_entries >= 40);
    engine.close().await;
    // The purged log id is there after a restart, and the group goes on.
    let engine = open(small(dir.path()));
    let group = open_group(&engine, 3, &Arc::default()).await;
    assert!(group.status().purged_index >= last - 10);
    propose(&group, "key").await;
    assert_eq!(count(&engine, 3, "key"), 51);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_purged_that_is_not_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = Arc::new(AtomicBool::new(false));
    let at_flush = Arc::clone(&blocked);
    let hook = Hook(move |step| {
        while step == DiskStep::StateFlush && at_flush.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    });
    let engine = open(EngineOptions {
        faults: Some(Arc::new(hook)),
        ..small(dir.path())
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    propose(&group, "key").await;
    group.flush().await.unwrap();
    blocked.store(true, Ordering::SeqCst);
    let flushed = group.status().flushed_index;
    for _ in 0..100 {
        propose(&group, "key").await;
        let status = group.status();
        assert_eq!(status.flushed_index, flushed);
        assert!(
            status.purged_index <= flushed,
            "purged {} over flushed {flushed}",
            status.purged_index
        );
    }
    blocked.store(false, Ordering::SeqCst);
    let last = group.status().last_log_index;
    until("purged after the flush", || {
        group.status().purged_index == last - 10
    })
    .await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_purged_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let keep = 1024 * 1024;
    let options = EngineOptions {
        log_keep_entries: 20_000,
        log_keep_size_bytes: keep,
        ..small(dir.path())
    };
    let engine = open(options.clone());
    let group = sole_group(&engine, 3, &Arc::default()).await;
    let payload = format!("key:{}", "x".repeat(50_000));
    for _ in 0..60 {
        propose(&group, &payload).await;
    }
    let step = 128 * 1024;
    until("the log is small", || {
        group.status().log_size_bytes <= keep + step
    })
    .await;
    assert!(group.status().log_size_bytes >= keep / 2);
    assert!(group.status().purged_index > 0);
    let size = group.status().log_size_bytes;
    engine.close().await;
    let engine = open(options);
    let group = open_group(&engine, 3, &Arc::default()).await;
    let loaded = group.status().log_size_bytes;
    assert!(
        loaded <= size + step && loaded + step >= size,
        "{loaded} after, {size} before"
    );
    engine.close().await;
}

/// Applied bytes of all groups together trigger a flush.
#[tokio::test(flavor = "multi_thread")]
async fn flushes_follow_applied_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let size = EngineOptions {
        flush_size_bytes: 100_000,
        flush_interval_ms: 3_600_000,
        ..options(dir.path(), 1)
    };
    let engine = open(size);
    let a = sole_group(&engine, 3, &Arc::default()).await;
    let b = sole_group(&engine, 4, &Arc::default()).await;
    let before = engine.metrics().flushes;
    let payload = format!("key:{}", "x".repeat(9_996));
    for _ in 0..4 {
        propose(&a, &payload).await;
        propose(&b, &payload).await;
    }
    assert_eq!(engine.metrics().flushes, before);
    for _ in 0..2 {
        propose(&a, &payload).await;
    }
    until("a flush", || engine.metrics().flushes == before + 1).await;
    engine.close().await;
}

/// case L26: rows that are newer than the log (a snapshot was ingested, the power went before the log was purged):
/// the log gives way and the group goes on from its rows.
#[tokio::test(flavor = "multi_thread")]
async fn rows_newer_than_the_log_win() {
    let (dir, older_log) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for _ in 0..5 {
        propose(&group, "key").await;
    }
    engine.close().await;
    copy_dir(&dir.path().join("log"), &older_log.path().join("log"));
    let engine = open(options(dir.path(), 1));
    let group = open_group(&engine, 3, &Arc::default()).await;
    for _ in 0..5 {
        propose(&group, "key").await;
    }
    let applied = group.status().applied_index;
    engine.close().await;
    copy_dir(&dir.path().join("state"), &older_log.path().join("state"));
    let engine = open(options(older_log.path(), 1));
    let seen: Arc<Seen> = Arc::default();
    let group = open_group(&engine, 3, &seen).await;
    group.wait_for_recovery(PATIENCE).await.unwrap();
    assert!(group.status().purged_index >= applied);
    assert_eq!(
        (
            count(&engine, 3, "key"),
            seen.applied.load(Ordering::SeqCst)
        ),
        (10, 0)
    );
    propose(&group, "key").await;
    assert_eq!(count(&engine, 3, "key"), 11);
    engine.close().await;
}
