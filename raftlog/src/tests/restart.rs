//! Restart by replay: after a clean end, after a crash that loses what was not flushed, after one that loses what was
//! not synced.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::counter_machine::Seen;
use super::power_cut::PowerCut;
use super::support::{
    Hook, PATIENCE, count, leads, open, open_group, options, propose, sole_group, until,
};
use crate::{DiskStep, EngineOptions};

/// Options under which nothing is flushed by itself, and a power cut can be taken.
fn watched(dir: &Path, power: &Arc<PowerCut>) -> EngineOptions {
    let (power, at) = (Arc::clone(power), dir.to_owned());
    let hook = Hook(move |step| {
        power.before(&at, step);
        Ok(())
    });
    EngineOptions {
        faults: Some(Arc::new(hook)),
        flush_interval_ms: 3_600_000,
        ..options(dir, 1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_restart_replays_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for _ in 0..10 {
        propose(&group, "key").await;
    }
    engine.close().await;
    let engine = open(options(dir.path(), 1));
    let seen: Arc<Seen> = Arc::default();
    let group = open_group(&engine, 3, &seen).await;
    group.wait_for_recovery(PATIENCE).await.unwrap();
    assert_eq!(seen.applied.load(Ordering::SeqCst), 0);
    assert_eq!(count(&engine, 3, "key"), 10);
    propose(&group, "key").await;
    assert_eq!(count(&engine, 3, "key"), 11);
    engine.close().await;
}

/// case L7: the applied index is stored with the rows, so entries whose rows were lost are applied again.
/// case L8: and in the same batch, so entries whose rows were kept are not: the machine refuses an index twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_loses_no_acknowledged_entry_and_repeats_none() {
    let (dir, power) = (tempfile::tempdir().unwrap(), Arc::default());
    let engine = open(watched(dir.path(), &power));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for round in 1..=3u64 {
        for _ in 0..20 {
            propose(&group, "key").await;
        }
        if round < 3 {
            group.flush().await.unwrap();
        }
        power.settle();
        let after = tempfile::tempdir().unwrap();
        power.cut(dir.path(), after.path());
        let again = open(options(after.path(), 1));
        let seen: Arc<Seen> = Arc::default();
        let replayed = open_group(&again, 3, &seen).await;
        replayed.wait_for_recovery(PATIENCE).await.unwrap();
        assert_eq!(count(&again, 3, "key"), 20 * round);
        let expected = if round < 3 { 0 } else { 20 };
        assert_eq!(
            seen.applied.load(Ordering::SeqCst),
            expected,
            "entries applied again in round {round}"
        );
        propose(&replayed, "key").await;
        assert_eq!(count(&again, 3, "key"), 20 * round + 1);
        again.close().await;
    }
    engine.close().await;
}

/// case L16: a proposal whose fsync has not ended is neither answered nor applied, and a power cut then loses it;
/// what was answered before, the new leader's own first entry included, is there.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_was_not_synced_was_not_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let power: Arc<PowerCut> = Arc::default();
    let stuck = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let reached = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let hook = {
        let (power, at, stuck, reached) = (
            Arc::clone(&power),
            dir.path().to_owned(),
            stuck.clone(),
            reached.clone(),
        );
        Hook(move |step| {
            power.before(&at, step);
            while step == DiskStep::LogSync && stuck.load(Ordering::SeqCst) {
                reached.store(true, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(())
        })
    };
    let engine = open(EngineOptions {
        faults: Some(Arc::new(hook)),
        ..options(dir.path(), 1)
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    propose(&group, "kept").await;
    let token = leads(&group).await;
    stuck.store(true, Ordering::SeqCst);
    let lost = group
        .submit(token, Bytes::from_static(b"lost"))
        .await
        .unwrap();
    until("the fsync is reached", || reached.load(Ordering::SeqCst)).await;
    assert_eq!(count(&engine, 3, "lost"), 0);
    let after = tempfile::tempdir().unwrap();
    power.cut(dir.path(), after.path());
    stuck.store(false, Ordering::SeqCst);
    lost.await.unwrap();
    engine.close().await;
    let again = open(options(after.path(), 1));
    let group = open_group(&again, 3, &Arc::default()).await;
    group.wait_for_recovery(PATIENCE).await.unwrap();
    assert_eq!((count(&again, 3, "kept"), count(&again, 3, "lost")), (1, 0));
    again.close().await;
}

/// A new leader's first entry is in the synced log before it answers anything, so that after a cut at that moment
/// everything committed earlier is applied again (case L16).
#[tokio::test(flavor = "multi_thread")]
async fn cuts_at_every_sync_keep_what_was_answered() {
    let dir = tempfile::tempdir().unwrap();
    let power: Arc<PowerCut> = Arc::default();
    let cuts = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let answered = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let hook = {
        let (power, at, cuts, answered) = (
            Arc::clone(&power),
            dir.path().to_owned(),
            cuts.clone(),
            answered.clone(),
        );
        Hook(move |step| {
            power.before(&at, step);
            if step == DiskStep::StateFlush {
                // The only proposer has its answer, so the last sync has ended.
                power.settle();
            }
            if matches!(step, DiskStep::LogSync | DiskStep::StateFlush)
                && at.join("state/CURRENT").exists()
            {
                let after = tempfile::tempdir()?;
                let known = answered.load(Ordering::SeqCst);
                power.cut(&at, after.path());
                cuts.lock().push((after, known));
            }
            Ok(())
        })
    };
    let engine = open(EngineOptions {
        faults: Some(Arc::new(hook)),
        ..options(dir.path(), 1)
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for place in 1..=8 {
        propose(&group, "key").await;
        answered.store(place, Ordering::SeqCst);
        if place == 4 {
            group.flush().await.unwrap();
        }
    }
    engine.close().await;
    let cuts = std::mem::take(&mut *cuts.lock());
    assert!(cuts.len() >= 10, "{} cuts", cuts.len());
    for (place, (after, known)) in cuts.into_iter().enumerate() {
        let again = open(options(after.path(), 1));
        let seen: Arc<Seen> = Arc::default();
        let group = sole_group(&again, 3, &seen).await;
        leads(&group).await;
        group.confirm_leadership().await.unwrap();
        let counted = count(&again, 3, "key");
        assert!(
            (known..=known + 1).contains(&counted),
            "cut {place}: {counted} applied, {known} answered"
        );
        again.close().await;
    }
}
