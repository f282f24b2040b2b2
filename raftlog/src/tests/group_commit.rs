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

/// Not a test of speed: prints what the machine at hand does.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints proposals per second; run with --ignored --nocapture"]
async fn proposals_per_second() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 1, &Arc::default()).await;
    let token = leads(&group).await;
    let payload = Bytes::from([b"key:".as_slice(), &[b'x'; 1020]].concat());
    for outstanding in [1, 64, 512] {
        let before = engine.metrics();
        let started = std::time::Instant::now();
        let workers: Vec<_> = (0..outstanding)
            .map(|_| {
                let (group, payload) = (group.clone(), payload.clone());
                tokio::spawn(async move {
                    let mut done = 0u64;
                    while started.elapsed().as_secs() < 5 {
                        group.propose(token, payload.clone()).await.unwrap();
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        let mut done = 0;
        for worker in workers {
            done += worker.await.unwrap();
        }
        let (seconds, after) = (started.elapsed().as_secs_f64(), engine.metrics());
        let (entries, fsyncs) = (after.entries - before.entries, after.fsyncs - before.fsyncs);
        assert!(entries >= done);
        println!(
            "{outstanding} outstanding: {:.0} proposals/s, {fsyncs} fsyncs for {entries} entries = {:.3} an entry",
            done as f64 / seconds,
            fsyncs as f64 / entries as f64
        );
    }
    engine.close().await;
}
