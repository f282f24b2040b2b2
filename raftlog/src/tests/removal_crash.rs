//! Removals that are cut short: by a kill, by a power cut, by a disk that fails.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::parts::{keys, open_part, said};
use super::power_cut::PowerCut;
use super::removal::{is_anything_left, two_groups};
use super::support::{Hook, PATIENCE, open, options, until};
use crate::{DiskStep, EngineOptions, GroupError};

const IO_ERROR: i32 = 5;

/// Rows are flushed when a test says so.
fn unflushed(
    dir: &Path,
    hook: impl Fn(DiskStep) -> io::Result<()> + Send + Sync + 'static,
) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 3_600_000,
        faults: Some(Arc::new(Hook(hook))),
        ..options(dir, 1)
    }
}

/// Opens what a crash left: the replica is whole or gone, and its neighbour whole. True if it is gone.
async fn is_gone_or_whole(image: &Path, what: &str) -> bool {
    let engine = open(options(image, 1));
    let is_gone = !engine.created_groups().await.unwrap().contains(&7);
    let eight = open_part(&engine, 8).await;
    if !is_gone {
        let seven = open_part(&engine, 7).await;
        // What was committed is committed again before it is applied.
        assert_eq!(said(&seven, "put b").await, "done", "{what}");
        assert_eq!(said(&eight, "put z").await, "done", "{what}");
        assert_eq!(keys(&engine), ["a", "b", "x", "y", "z"], "{what}");
        engine.remove_group(7, 1).await.unwrap();
    }
    assert_eq!(said(&eight, "put z").await, "done", "{what}");
    assert_eq!(keys(&engine), ["x", "y", "z"], "{what}");
    assert!(!is_anything_left(&engine, 7), "{what}");
    let again = engine.create_replica(7, 1).await;
    assert!(
        matches!(again, Err(GroupError::Removed { .. })),
        "{what}: {again:?}"
    );
    engine.close().await;
    is_gone
}

/// Before each step of a removal, and after the last, the process is killed or the power goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_step_of_a_removal_leaves_it_whole_or_gone() {
    let (dir, images) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let power: Arc<PowerCut> = Arc::default();
    let (taken, is_removing) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicBool::new(false)),
    );
    let take = {
        let (from, to) = (dir.path().to_owned(), images.path().to_owned());
        let (power, taken) = (Arc::clone(&power), Arc::clone(&taken));
        move |step: Option<DiskStep>| {
            let number = taken.lock().len();
            for (name, how) in [("cut", &*power), ("killed", &PowerCut::default())] {
                let image = to.join(format!("{number}-{name}"));
                std::fs::create_dir_all(&image).unwrap();
                how.cut(&from, &image);
            }
            taken.lock().push(step);
        }
    };
    let hook = {
        let (dir, power, take) = (dir.path().to_owned(), Arc::clone(&power), take.clone());
        let is_removing = Arc::clone(&is_removing);
        move |step| {
            power.before(&dir, step);
            if is_removing.load(Ordering::SeqCst) {
                if matches!(step, DiskStep::StateWrite | DiskStep::StateFlush) {
                    // The syncs before it were waited for.
                    power.settle();
                }
                take(Some(step));
            }
            Ok(())
        }
    };
    let engine = open(unflushed(dir.path(), hook));
    let _groups = two_groups(&engine).await;
    engine.group(8).unwrap().flush().await.unwrap();
    is_removing.store(true, Ordering::SeqCst);
    engine.remove_group(7, 1).await.unwrap();
    is_removing.store(false, Ordering::SeqCst);
    power.settle();
    take(None);
    engine.close().await;
    let steps = taken.lock().clone();
    let mut ends = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        for name in ["cut", "killed"] {
            let what = format!("{number}-{name}");
            let image = images.path().join(&what);
            ends.push(is_gone_or_whole(&image, &format!("{what} {step:?}")).await);
        }
    }
    let first_gone = ends.iter().position(|is_gone| *is_gone).unwrap();
    assert!(first_gone >= 2, "nothing happens before the first step");
    assert!(
        ends[ends.len() - 2..] == [true, true],
        "it was acknowledged"
    );
    let is_erasing = |step: &Option<DiskStep>| *step == Some(DiskStep::StateWrite);
    let erasing = steps.iter().position(is_erasing).unwrap();
    assert!(
        ends[2 * erasing] && ends[2 * erasing + 1],
        "the tombstone is durable before anything is deleted: {steps:?}"
    );
}

/// The disk fails at each step in turn: the removal says so and can be repeated, and the neighbour goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_repeated_after_a_disk_failure_at_any_step() {
    for failing in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let (left, is_removing) = (
            Arc::new(AtomicUsize::new(failing)),
            Arc::new(AtomicBool::new(false)),
        );
        let hook = {
            let (left, is_removing) = (Arc::clone(&left), Arc::clone(&is_removing));
            move |_| {
                if !is_removing.load(Ordering::SeqCst) {
                    return Ok(());
                }
                if left.fetch_sub(1, Ordering::SeqCst) > 0 {
                    return Ok(());
                }
                is_removing.store(false, Ordering::SeqCst);
                Err(io::Error::from_raw_os_error(IO_ERROR))
            }
        };
        let engine = open(unflushed(dir.path(), hook));
        let (_seven, eight) = two_groups(&engine).await;
        is_removing.store(true, Ordering::SeqCst);
        let first = engine.remove_group(7, 1).await;
        if is_removing.swap(false, Ordering::SeqCst) {
            first.unwrap();
            assert!(failing > 3, "no step failed");
            engine.close().await;
            return;
        }
        assert!(first.is_err(), "step {failing}");
        let again = async {
            while let Err(error) = engine.remove_group(7, 1).await {
                assert!(
                    !matches!(error, GroupError::NotOpen(_)),
                    "step {failing}: {error}"
                );
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, again).await.unwrap();
        until("the neighbour is open", || eight.status().is_leader).await;
        assert_eq!(said(&eight, "put z").await, "done", "step {failing}");
        assert_eq!(keys(&engine), ["x", "y", "z"], "step {failing}");
        assert!(!is_anything_left(&engine, 7), "step {failing}");
        assert!(engine.group(7).is_none());
        engine.close().await;
    }
}
