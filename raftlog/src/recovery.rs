//! The thread that watches the disk: free space, and after a failure the reopening of both databases.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rocksdb::WriteOptions;

use crate::engine::Shared;
use crate::errors::StopReason;
use crate::fault::DiskStep;
use crate::log::identity_key;

/// Longest wait for users of the databases to let go of them, in one attempt.
const PATIENCE: Duration = Duration::from_secs(10);

/// The thread's work, until the engine is closed.
pub(crate) fn run(shared: &Shared) {
    let pause = Duration::from_millis(shared.options.recover_interval_ms);
    while !shared.closing.load(Ordering::SeqCst) {
        look(shared, PATIENCE);
        let mut closed = shared.closed.lock();
        if !*closed {
            shared.closed_changed.wait_for(&mut closed, pause);
        }
    }
}

/// The same for a task. Whoever uses the databases runs on the same thread, so nothing is waited for but the next turn.
pub(crate) async fn run_inline(shared: &Shared) {
    let pause = Duration::from_millis(shared.options.recover_interval_ms);
    while !shared.closing.load(Ordering::SeqCst) {
        look(shared, Duration::ZERO);
        tokio::time::sleep(pause).await;
    }
}

/// One look at the disk.
fn look(shared: &Shared, patience: Duration) {
    let free_bytes = free_bytes(shared);
    let is_low = free_bytes.is_some_and(|free| free < shared.options.min_free_bytes);
    if shared.health.set_low_on_space(is_low) {
        let (dir, needed_bytes) = (shared.options.dir.display(), shared.options.min_free_bytes);
        if is_low {
            tracing::warn!(%dir, free_bytes, needed_bytes, "the disk is full: nothing is accepted until there is space");
        } else {
            tracing::warn!(%dir, free_bytes, needed_bytes, "the disk has space again: work goes on");
        }
    }
    if let Some(reason) = shared.health.failure() {
        match recover(shared, &reason, is_low, patience) {
            Ok(()) => shared.health.recovered(),
            Err(error) => tracing::warn!(%error, "the disk does not work yet"),
        }
    }
}

/// Free space on the engine's device, in bytes.
fn free_bytes(shared: &Shared) -> Option<u64> {
    let stat = rustix::fs::statvfs(&shared.options.dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn recover(
    shared: &Shared,
    reason: &StopReason,
    is_low: bool,
    patience: Duration,
) -> Result<(), String> {
    if is_low && matches!(reason, StopReason::DiskFull(_)) {
        return Err("too little free space".to_owned());
    }
    // Every instance holds what it read from the databases: none may live on.
    let deadline = Instant::now() + patience;
    while shared.slots().iter().any(|slot| slot.is_busy()) {
        if Instant::now() >= deadline || shared.closing.load(Ordering::SeqCst) {
            return Err("groups are still being stopped".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    shared
        .before(DiskStep::Reopen)
        .map_err(|error| error.to_string())?;
    if !shared.state_cell.close(patience) || !shared.log_cell.close(patience) {
        return Err("rows are still being read".to_owned());
    }
    shared
        .log_cell
        .reopen()
        .map_err(|error| error.to_string())?;
    shared
        .state_cell
        .reopen()
        .map_err(|error| error.to_string())?;
    probe(shared)
}

/// Writes something that is there already, to see a sync succeed.
fn probe(shared: &Shared) -> Result<(), String> {
    let db = shared.log_cell.get().map_err(|error| error.to_string())?;
    let identity = db
        .get(identity_key())
        .map_err(|error| error.to_string())?
        .unwrap_or_default();
    let mut options = WriteOptions::default();
    options.set_sync(true);
    shared
        .before(DiskStep::LogWrite)
        .and_then(|()| shared.before(DiskStep::LogSync))
        .map_err(|error| error.to_string())?;
    db.put_opt(identity_key(), identity, &options)
        .map_err(|error| error.to_string())
}
