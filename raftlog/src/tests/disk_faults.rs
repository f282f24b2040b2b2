//! Disk full and I/O errors: nothing is acknowledged, the reason is named, and it works again by itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use parking_lot::Mutex;

use super::counter_machine::Seen;
use super::support::{Hook, PATIENCE, count, leads, open, options, propose, sole_group, until};
use crate::{DiskStep, EngineOptions, GroupState, ProposeError, StopReason};

const NO_SPACE: i32 = 28;
const IO_ERROR: i32 = 5;

/// Fails one step with an error for as long as it is set.
type Fault = Arc<Mutex<Option<(DiskStep, i32)>>>;

fn faulty(dir: &std::path::Path) -> (EngineOptions, Fault) {
    let fault: Fault = Arc::default();
    let set = Arc::clone(&fault);
    let hook = Hook(move |step| match *set.lock() {
        Some((failing, code)) if failing == step || step == DiskStep::Reopen => {
            Err(io::Error::from_raw_os_error(code))
        }
        _ => Ok(()),
    });
    (
        EngineOptions {
            faults: Some(Arc::new(hook)),
            ..options(dir, 1)
        },
        fault,
    )
}

async fn fails_and_recovers(step: DiskStep, code: i32) {
    let dir = tempfile::tempdir().unwrap();
    let (options, fault) = faulty(dir.path());
    let engine = open(options);
    let seen: Arc<Seen> = Arc::default();
    let group = sole_group(&engine, 3, &seen).await;
    let other = sole_group(&engine, 4, &Arc::default()).await;
    for _ in 0..5 {
        propose(&group, "key").await;
        propose(&other, "key").await;
    }
    let token = leads(&group).await;
    *fault.lock() = Some((step, code));
    let lost = group.propose(token, Bytes::from_static(b"doubtful")).await;
    if step == DiskStep::StateFlush {
        lost.unwrap();
        group.flush().await.unwrap_err();
    } else {
        assert!(
            matches!(lost, Err(ProposeError::OutcomeUnknown(_))),
            "{lost:?}"
        );
    }
    let stopped =
        || matches!(group.status().state, GroupState::Recovering(_)) && !other.status().is_leader;
    until("both groups stop", stopped).await;
    let refused = group
        .propose(token, Bytes::from_static(b"refused"))
        .await
        .unwrap_err();
    let is_named = match code {
        NO_SPACE => {
            matches!(&refused, ProposeError::DiskFull(reason) if reason.contains("os error 28"))
        }
        _ => matches!(&refused, ProposeError::Stopped(StopReason::Io(_))),
    };
    assert!(is_named, "{refused:?}");
    assert!(engine.failure().is_some());
    *fault.lock() = None;
    let works = || group.status().is_leader && other.status().is_leader;
    until("both groups lead again", works).await;
    group.wait_for_recovery(PATIENCE).await.unwrap();
    propose(&group, "key").await;
    propose(&other, "key").await;
    assert_eq!((count(&engine, 3, "key"), count(&engine, 4, "key")), (6, 6));
    assert!(count(&engine, 3, "doubtful") <= 1);
    assert_eq!(count(&engine, 3, "refused"), 0);
    assert!(
        seen.made.load(Ordering::SeqCst) >= 2,
        "the machine was made anew"
    );
    let metrics = engine.metrics();
    assert_eq!((metrics.disk_failures, metrics.disk_recoveries), (1, 1));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_at_the_log_write() {
    fails_and_recovers(DiskStep::LogWrite, NO_SPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_log_sync() {
    fails_and_recovers(DiskStep::LogSync, IO_ERROR).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_at_the_state_write() {
    fails_and_recovers(DiskStep::StateWrite, NO_SPACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_state_flush() {
    fails_and_recovers(DiskStep::StateFlush, IO_ERROR).await;
}

/// Below the reserve proposals are refused before anything is written, and groups stay up.
#[tokio::test(flavor = "multi_thread")]
async fn too_little_free_space_refuses_proposals() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(EngineOptions {
        min_free_bytes: u64::MAX,
        ..options(dir.path(), 1)
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    let token = leads(&group).await;
    let low = || engine.shared.health.is_low_on_space();
    until("the space is measured", low).await;
    let refused = group.propose(token, Bytes::from_static(b"key")).await;
    assert!(
        matches!(refused, Err(ProposeError::DiskFull(_))),
        "{refused:?}"
    );
    assert_eq!(group.status().state, GroupState::Running);
    group.confirm_leadership().await.unwrap();
    engine.close().await;
}
