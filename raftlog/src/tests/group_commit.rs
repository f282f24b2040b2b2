//! One fsync for everything that waits, of all groups.

use std::sync::Arc;

use bytes::Bytes;

use super::support::{Hook, leads, open, options, sole_group};
use crate::{DiskStep, EngineOptions};

const GROUPS: u64 = 8;
const PROPOSALS: u64 = 200;

/// The fsync is held back until all groups have queued, so that what waits is known and not a matter of luck.
#[tokio::test(flavor = "multi_thread")]
async fn groups_share_fsyncs() {
    let dir = tempfile::tempdir().unwrap();
    let gate = Arc::new(parking_lot::RwLock::new(()));
    let at_gate = Arc::clone(&gate);
    let hook = Hook(move |step| {
        if step == DiskStep::LogSync {
            drop(at_gate.read());
        }
        Ok(())
    });
    let engine = open(EngineOptions {
        faults: Some(Arc::new(hook)),
        ..options(dir.path(), 1)
    });
    let mut groups = Vec::new();
    for group_id in 1..=GROUPS {
        let group = sole_group(&engine, group_id, &Arc::default()).await;
        let token = leads(&group).await;
        group.confirm_leadership().await.unwrap();
        groups.push((group, token));
    }
    let before = engine.metrics();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (closed, is_closed) = tokio::sync::oneshot::channel();
    let holder = std::thread::spawn(move || {
        let _closed = gate.write();
        closed.send(()).unwrap();
        let _released = wait.recv();
    });
    is_closed.await.unwrap();
    let mut pending = Vec::new();
    for _ in 0..PROPOSALS {
        for (group, token) in &groups {
            pending.push(
                group
                    .submit(*token, Bytes::from_static(b"key"))
                    .await
                    .unwrap(),
            );
        }
    }
    drop(release);
    holder.join().unwrap();
    for reply in pending {
        reply.await.unwrap();
    }
    let after = engine.metrics();
    let entries = after.entries - before.entries;
    let fsyncs = after.fsyncs - before.fsyncs;
    assert_eq!(entries, GROUPS * PROPOSALS);
    assert!(
        fsyncs * 4 <= entries,
        "{fsyncs} fsyncs for {entries} entries"
    );
    assert!(after.log_batches >= after.fsyncs);
    println!("{fsyncs} fsyncs for {entries} entries of {GROUPS} groups");
    engine.close().await;
}
