//! The thread that flushes the state database: after so many bytes of applied entries, after so much time, on request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, oneshot};

use crate::engine::Shared;
use crate::errors::StopReason;
use crate::group::Instance;
use crate::ids::GroupId;
use crate::metrics::add;
use crate::threads::VirtualDisk;

#[derive(Default)]
struct Work {
    /// Open groups.
    instances: BTreeMap<GroupId, Arc<Instance>>,
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
    /// The same for a task in place of the thread.
    wake_task: Notify,
    size_bytes: u64,
    interval: Duration,
}

impl Flusher {
    pub(crate) fn new(size_bytes: u64, interval: Duration) -> Self {
        Self {
            work: Mutex::default(),
            wake: Condvar::new(),
            wake_task: Notify::new(),
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

    /// No instance is open any more.
    pub(crate) fn forget_all(&self) {
        self.work.lock().instances.clear();
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
            self.wake();
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
        self.wake();
        receiver.await.unwrap_or(Err(StopReason::Shutdown))
    }

    /// Ends the thread.
    pub(crate) fn begin_close(&self) {
        self.work.lock().closing = true;
        self.wake();
    }

    fn wake(&self) {
        self.wake.notify_one();
        self.wake_task.notify_one();
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
            let Some(round) = work.next_round() else {
                return;
            };
            drop(work);
            deadline = Instant::now() + self.interval;
            round.run(shared);
        }
    }

    /// The thread's work for a task, with flushes that take the runtime's time.
    pub(crate) async fn run_inline(&self, shared: &Shared, disk: &dyn VirtualDisk) {
        let mut deadline = tokio::time::Instant::now() + self.interval;
        loop {
            loop {
                let is_due = {
                    let work = self.work.lock();
                    work.closing
                        || !work.waiting.is_empty()
                        || work.unflushed_bytes >= self.size_bytes
                };
                let woken = tokio::time::timeout_at(deadline, self.wake_task.notified());
                if is_due || woken.await.is_err() {
                    break;
                }
            }
            let Some(round) = self.work.lock().next_round() else {
                return;
            };
            deadline = tokio::time::Instant::now() + self.interval;
            if round.is_due {
                tokio::time::sleep(disk.state_flush()).await;
            }
            round.run(shared);
        }
    }
}

/// One turn of the flusher.
struct Round {
    waiting: Vec<oneshot::Sender<Result<(), StopReason>>>,
    is_due: bool,
    instances: Vec<Arc<Instance>>,
}

impl Work {
    /// What is to be done now; none when the flusher closes.
    fn next_round(&mut self) -> Option<Round> {
        if self.closing {
            self.waiting.clear();
            self.instances.clear();
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let is_due = self.dirty || !waiting.is_empty();
        self.dirty = false;
        self.unflushed_bytes = 0;
        Some(Round {
            waiting,
            is_due,
            instances: self.instances.values().cloned().collect(),
        })
    }
}

impl Round {
    fn run(self, shared: &Shared) {
        let result = if self.is_due {
            flush(shared, &self.instances)
        } else {
            Ok(())
        };
        for waiter in self.waiting {
            let _gone = waiter.send(result.clone());
        }
        // Also after a flush that was not due, so that a purge that was put off is tried again.
        self.instances
            .iter()
            .for_each(|instance| instance.after_flush.notify_one());
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
