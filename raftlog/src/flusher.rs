//! The thread that flushes the state database: after so many bytes of applied entries, after so much time, on request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::engine::Shared;
use crate::errors::StopReason;
use crate::group::Instance;
use crate::ids::GroupId;
use crate::metrics::add;

#[derive(Default)]
struct Work {
    /// Open groups.
    instances: HashMap<GroupId, Arc<Instance>>,
    /// Bytes of entries applied since the last flush began.
    unflushed_bytes: u64,
    /// Something was applied since the last flush began.
    dirty: bool,
    waiting: Vec<oneshot::Sender<Result<(), StopReason>>>,
    closing: bool,
}

/// Handle of the thread.
pub(crate) struct Flusher {
    work: Mutex<Work>,
    wake: Condvar,
    size_bytes: u64,
    interval: Duration,
}

impl Flusher {
    pub(crate) fn new(size_bytes: u64, interval: Duration) -> Self {
        Self {
            work: Mutex::default(),
            wake: Condvar::new(),
            size_bytes,
            interval,
        }
    }

    /// An instance whose flushes are recorded from now on.
    pub(crate) fn register(&self, instance: &Arc<Instance>) {
        self.work
            .lock()
            .instances
            .insert(instance.group_id, Arc::clone(instance));
    }

    pub(crate) fn unregister(&self, group_id: GroupId) {
        self.work.lock().instances.remove(&group_id);
    }

    /// Open instances other than that of `group_id`.
    pub(crate) fn others(&self, group_id: GroupId) -> Vec<Arc<Instance>> {
        let work = self.work.lock();
        work.instances
            .values()
            .filter(|other| other.group_id != group_id)
            .map(Arc::clone)
            .collect()
    }

    /// Entries of so many bytes were applied.
    pub(crate) fn applied(&self, size_bytes: u64) {
        let mut work = self.work.lock();
        work.dirty = true;
        work.unflushed_bytes += size_bytes;
        if work.unflushed_bytes >= self.size_bytes {
            self.wake.notify_one();
        }
    }

    /// Flushes now. What was applied before the call is flushed on return.
    pub(crate) async fn flush(&self) -> Result<(), StopReason> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut work = self.work.lock();
            if work.closing {
                return Err(StopReason::Shutdown);
            }
            work.waiting.push(sender);
        }
        self.wake.notify_one();
        receiver.await.unwrap_or(Err(StopReason::Shutdown))
    }

    /// Ends the thread.
    pub(crate) fn begin_close(&self) {
        self.work.lock().closing = true;
        self.wake.notify_one();
    }

    /// The thread's work, until it is closed.
    pub(crate) fn run(&self, shared: &Shared) {
        let mut deadline = Instant::now() + self.interval;
        loop {
            let mut work = self.work.lock();
            while !work.closing && work.waiting.is_empty() && work.unflushed_bytes < self.size_bytes
            {
                if self.wake.wait_until(&mut work, deadline).timed_out() {
                    break;
                }
            }
            if work.closing {
                work.waiting.clear();
                work.instances.clear();
                return;
            }
            let waiting = std::mem::take(&mut work.waiting);
            let is_due = work.dirty || !waiting.is_empty();
            let instances: Vec<_> = work.instances.values().cloned().collect();
            work.dirty = false;
            work.unflushed_bytes = 0;
            drop(work);
            deadline = Instant::now() + self.interval;
            let result = if is_due {
                flush(shared, &instances)
            } else {
                Ok(())
            };
            for waiter in waiting {
                let _gone = waiter.send(result.clone());
            }
            // Also after a flush that was not due, so that a purge that was put off is tried again.
            instances
                .iter()
                .for_each(|instance| instance.after_flush.notify_one());
        }
    }
}

fn flush(shared: &Shared, instances: &[Arc<Instance>]) -> Result<(), StopReason> {
    let failure = |reason: StopReason| {
        shared.health.fail(reason.clone());
        reason
    };
    let generation = shared.state_cell.generation();
    let db = shared
        .state_cell
        .get_at(generation)
        .map_err(|error| StopReason::Io(error.to_string()))?;
    // Read before the flush: the flush covers at least these.
    let covered: Vec<_> = instances
        .iter()
        .filter(|instance| instance.generation == generation)
        .map(|instance| (instance, instance.applied.lock().clone()))
        .collect();
    shared
        .flush_state(&db)
        .map_err(|error| failure(crate::health::classify(&error)))?;
    for (instance, applied) in covered {
        let mut flushed = instance.flushed.lock();
        if applied.log_id > flushed.log_id {
            *flushed = applied;
        }
    }
    add(&shared.counters.flushes, 1);
    Ok(())
}
