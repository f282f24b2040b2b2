//! The one thread that writes the log: everything that waits, of all groups, in one batch and one fsync.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use openraft::storage::IOFlushed;
use parking_lot::{Condvar, Mutex};
use prost::Message;
use rocksdb::{DB, WriteBatch, WriteOptions};
use tokio::sync::{Notify, oneshot};

use super::keys::{LogField, entry_key, field_key};
use super::tail::size_bytes;
use crate::db_cell::{DbCell, Generation};
use crate::errors::{StateError, StopReason};
use crate::fault::{DiskStep, FaultHook, Rule};
use crate::health::{Health, classify};
use crate::ids::GroupId;
use crate::limits::MAX_LOG_BATCH_BYTES;
use crate::metrics::{Counters, add};
use crate::raft_types::{Entry, TypeConfig};
use crate::threads::VirtualDisk;
use crate::wire::EntryMsg;

/// Removes all that the log holds of a group and writes its descriptor.
pub(crate) fn reset_group(batch: &mut WriteBatch, group_id: GroupId, descriptor: Vec<u8>) {
    batch.delete_range(entry_key(group_id, 0), entry_key(group_id, u64::MAX));
    for field in [LogField::Vote, LogField::Committed, LogField::Purged] {
        batch.delete(field_key(group_id, field));
    }
    batch.put(field_key(group_id, LogField::Descriptor), descriptor);
}

/// How long something that nobody waits for may stay queued, so that it shares the next batch.
const IDLE_DELAY: Duration = Duration::from_millis(200);

/// Who is told when an operation is durable.
pub(crate) enum Done {
    Raft(IOFlushed<TypeConfig>),
    Wait(oneshot::Sender<io::Result<()>>),
    Nobody,
}

impl Done {
    fn tell(self, result: io::Result<()>) {
        match self {
            Self::Raft(callback) => callback.io_completed(result),
            Self::Wait(sender) => {
                let _gone = sender.send(result);
            }
            Self::Nobody => {}
        }
    }
}

/// One change of a group's log.
pub(crate) enum LogOp {
    /// Entries, each with its end in the log.
    Append(Vec<(Entry, u64)>),
    /// One of the group's fields.
    Put(LogField, Vec<u8>),
    /// Removes all entries and fields and writes this descriptor.
    Reset(Vec<u8>),
    /// Removes the entries from this index on.
    Truncate(u64),
    /// Removes the entries up to this index, and records the encoded log id.
    Purge(u64, Vec<u8>),
}

struct Queued {
    group_id: GroupId,
    generation: Generation,
    op: LogOp,
    done: Done,
    size_bytes: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Queued>,
    /// Operations among them that somebody waits for.
    urgent: usize,
    /// Place of the newest operation.
    last_ticket: u64,
    closing: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// The same for a task in place of the thread.
    wake_task: Notify,
    /// All operations up to this place are in the database, synced or not.
    written_ticket: AtomicU64,
    cell: Arc<DbCell>,
    health: Health,
    counters: Arc<Counters>,
    faults: Option<Arc<dyn FaultHook>>,
}

/// Handle of the thread.
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Syncer {
    pub(crate) fn new(
        cell: Arc<DbCell>,
        health: Health,
        counters: Arc<Counters>,
        faults: Option<Arc<dyn FaultHook>>,
    ) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            wake_task: Notify::new(),
            written_ticket: AtomicU64::new(0),
            cell,
            health,
            counters,
            faults,
        });
        Self {
            shared,
            thread: Mutex::new(None),
        }
    }

    /// Starts the thread.
    pub(crate) fn start(&self) -> io::Result<()> {
        let worker = Arc::clone(&self.shared);
        let builder = std::thread::Builder::new().name("raft-log".to_owned());
        *self.thread.lock() = Some(builder.spawn(move || while worker.step() {})?);
        Ok(())
    }

    /// The thread's work for a task, with a sync that takes the runtime's time.
    pub(crate) fn run_inline(
        &self,
        disk: Arc<dyn VirtualDisk>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move { while shared.step_inline(&*disk).await {} }
    }

    /// Queues an operation; its place in the order of all. `done` is told after the fsync, or at once if the log does
    /// not work.
    pub(crate) fn push(
        &self,
        group_id: GroupId,
        generation: Generation,
        op: LogOp,
        done: Done,
    ) -> u64 {
        let size_bytes = match &op {
            LogOp::Append(entries) => entries.iter().map(|(entry, _)| size_bytes(entry)).sum(),
            _ => 64,
        };
        let mut queue = self.shared.queue.lock();
        queue.last_ticket += 1;
        let ticket = queue.last_ticket;
        if queue.closing || self.shared.health.failure().is_some() {
            drop(queue);
            let reason = self.shared.health.failure().unwrap_or(StopReason::Shutdown);
            done.tell(Err(io::Error::other(reason)));
            return ticket;
        }
        let is_urgent = !matches!(done, Done::Nobody);
        queue.urgent += usize::from(is_urgent);
        let was_empty = queue.waiting.is_empty();
        queue.waiting.push_back(Queued {
            group_id,
            generation,
            op,
            done,
            size_bytes,
        });
        drop(queue);
        if is_urgent || was_empty {
            self.shared.wake();
        }
        ticket
    }

    /// Queues an operation and waits until it is durable.
    pub(crate) async fn write(
        &self,
        group_id: GroupId,
        generation: Generation,
        op: LogOp,
    ) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.push(group_id, generation, op, Done::Wait(sender));
        receiver
            .await
            .unwrap_or_else(|_| Err(io::Error::other(StopReason::Shutdown)))
    }

    /// All operations up to this place can be read from the database.
    pub(crate) fn written_ticket(&self) -> u64 {
        self.shared.written_ticket.load(Ordering::Acquire)
    }

    /// The counters of the engine.
    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Asks the thread to write what waits and to end.
    pub(crate) fn begin_close(&self) {
        self.shared.queue.lock().closing = true;
        self.shared.wake();
    }

    /// Writes what waits and ends the thread.
    pub(crate) fn close(&self) {
        self.begin_close();
        if let Some(thread) = self.thread.lock().take() {
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    fn wake(&self) {
        self.wake.notify_one();
        self.wake_task.notify_one();
    }

    /// Writes one batch; false when the queue is closed and empty.
    fn step(&self) -> bool {
        let (batch, last_ticket) = self.take();
        if batch.is_empty() {
            return false;
        }
        let Ok((db, generation)) = self.database() else {
            // Closed for the moment: whoever waits belongs to instances that are being stopped.
            self.tell(batch, 0, Some(&StopReason::Shutdown));
            return true;
        };
        let written = self
            .write_batch(&db, generation, &batch, last_ticket)
            .and_then(|()| self.sync(&db));
        self.end(batch, generation, written);
        true
    }

    /// The same under virtual time.
    async fn step_inline(&self, disk: &dyn VirtualDisk) -> bool {
        let (batch, last_ticket) = self.take_inline().await;
        if batch.is_empty() {
            return false;
        }
        let Ok((db, generation)) = self.database() else {
            self.tell(batch, 0, Some(&StopReason::Shutdown));
            return true;
        };
        let mut written = self.write_batch(&db, generation, &batch, last_ticket);
        let mut batch = batch;
        let answers_early = self
            .faults
            .as_ref()
            .is_some_and(|f| f.is_off(Rule::SyncBeforeAnswer));
        if answers_early && written.is_ok() {
            self.tell(std::mem::take(&mut batch), generation, None);
        }
        if written.is_ok() {
            tokio::time::sleep(disk.log_sync()).await;
            written = self.sync(&db);
        }
        if written.is_ok() {
            disk.log_synced();
        }
        self.end(batch, generation, written);
        true
    }

    fn write_batch(
        &self,
        db: &DB,
        generation: Generation,
        batch: &[Queued],
        last_ticket: u64,
    ) -> io::Result<()> {
        self.write(db, generation, batch)?;
        self.written_ticket.store(last_ticket, Ordering::Release);
        Ok(())
    }

    fn end(&self, batch: Vec<Queued>, generation: Generation, written: io::Result<()>) {
        let failure = written.err().map(|error| classify(&error));
        if let Some(reason) = &failure {
            self.health.fail(reason.clone());
        }
        self.tell(batch, generation, failure.as_ref());
    }

    fn database(&self) -> Result<(Arc<DB>, Generation), StateError> {
        let generation = self.cell.generation();
        Ok((self.cell.get_at(generation)?, generation))
    }

    /// Waits for operations and takes as many as one batch may hold.
    fn take(&self) -> (Vec<Queued>, u64) {
        let mut queue = self.queue.lock();
        while queue.urgent == 0 && !queue.closing {
            if queue.waiting.is_empty() {
                self.wake.wait(&mut queue);
            } else if self.wake.wait_for(&mut queue, IDLE_DELAY).timed_out() {
                break;
            }
        }
        Self::take_some(&mut queue)
    }

    /// The same for a task.
    async fn take_inline(&self) -> (Vec<Queued>, u64) {
        loop {
            let is_empty = {
                let mut queue = self.queue.lock();
                if queue.urgent > 0 || queue.closing {
                    return Self::take_some(&mut queue);
                }
                queue.waiting.is_empty()
            };
            let woken = self.wake_task.notified();
            if is_empty {
                woken.await;
            } else if tokio::time::timeout(IDLE_DELAY, woken).await.is_err() {
                return Self::take_some(&mut self.queue.lock());
            }
        }
    }

    fn take_some(queue: &mut Queue) -> (Vec<Queued>, u64) {
        let mut batch = Vec::new();
        let mut batch_bytes = 0;
        while batch_bytes < MAX_LOG_BATCH_BYTES {
            let Some(next) = queue.waiting.pop_front() else {
                break;
            };
            queue.urgent -= usize::from(!matches!(next.done, Done::Nobody));
            batch_bytes += next.size_bytes;
            batch.push(next);
        }
        let last_ticket = queue.last_ticket - queue.waiting.len() as u64;
        (batch, last_ticket)
    }

    fn write(&self, db: &DB, generation: Generation, queued: &[Queued]) -> io::Result<()> {
        let mut batch = WriteBatch::default();
        // What an older generation queued is left out here and refused in `tell`.
        for item in queued.iter().filter(|item| item.generation == generation) {
            self.add(&mut batch, item);
        }
        self.before(DiskStep::LogWrite)?;
        db.write_opt(batch, &WriteOptions::default())
            .map_err(io::Error::other)?;
        add(&self.counters.log_batches, 1);
        Ok(())
    }

    fn sync(&self, db: &DB) -> io::Result<()> {
        self.before(DiskStep::LogSync)?;
        db.flush_wal(true).map_err(io::Error::other)?;
        add(&self.counters.fsyncs, 1);
        Ok(())
    }

    fn before(&self, step: DiskStep) -> io::Result<()> {
        self.faults
            .as_ref()
            .map_or(Ok(()), |faults| faults.before(step))
    }

    fn add(&self, batch: &mut WriteBatch, item: &Queued) {
        let group_id = item.group_id;
        match &item.op {
            LogOp::Append(entries) => {
                add(&self.counters.appends, 1);
                add(&self.counters.entries, entries.len() as u64);
                for (entry, end_bytes) in entries {
                    let value = EntryMsg::stored(entry, *end_bytes).encode_to_vec();
                    add(&self.counters.entry_bytes, value.len() as u64);
                    batch.put(entry_key(group_id, entry.log_id.index), value);
                }
            }
            LogOp::Put(field, value) => {
                add(&self.counters.votes, u64::from(*field == LogField::Vote));
                batch.put(field_key(group_id, *field), value);
            }
            LogOp::Reset(descriptor) => reset_group(batch, group_id, descriptor.clone()),
            LogOp::Truncate(from) => {
                batch.delete_range(entry_key(group_id, *from), entry_key(group_id, u64::MAX));
            }
            LogOp::Purge(upto, value) => {
                batch.put(field_key(group_id, LogField::Purged), value);
                batch.delete_range(
                    entry_key(group_id, 0),
                    entry_key(group_id, upto.saturating_add(1)),
                );
            }
        }
    }

    /// Tells who waits. What an older generation queued was not written.
    fn tell(&self, batch: Vec<Queued>, generation: Generation, failure: Option<&StopReason>) {
        for item in batch {
            let stale = (item.generation != generation).then_some(StopReason::Shutdown);
            let reason = failure.cloned().or(stale);
            item.done
                .tell(reason.map_or(Ok(()), |reason| Err(io::Error::other(reason))));
        }
    }
}
