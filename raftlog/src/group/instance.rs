//! A group's machine and rows, as one generation of the state database.

use std::sync::Arc;

use bytes::Bytes;
use openraft::EntryPayload;
use parking_lot::Mutex;
use rocksdb::{DB, WriteBatch, WriteOptions};
use tokio::sync::{Notify, watch};

use super::applied::{AppliedState, load_applied};
use super::founding::Founding;
use super::longer_log::LongerLog;
use super::owned::{load_owned, owned_row};
use super::transfers::Transfers;
use crate::db_cell::Generation;
use crate::engine::Shared;
use crate::errors::{StateError, StopReason};
use crate::fault::{DiskStep, Rule};
use crate::health::classify;
use crate::ids::{GroupId, NodeId};
use crate::machine::{Applied, Committed, MachineError, MachineFactory, StateMachine};
use crate::metrics::add;
use crate::raft_types::{Entry, StoredMembership};
use crate::rows::KeyRange;
use crate::state::{StateView, write_rows};

/// Why entries could not be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    State(#[from] StateError),
    /// The replica was removed.
    #[error("the replica was removed")]
    Retired,
    /// Holes are refused where entries are read, so only a repeat is left to refuse here.
    #[error("applied up to {applied}, asked to apply {asked} again")]
    Repeat { applied: u64, asked: u64 },
}

/// One life of a group's machine: from being made of the rows to being dropped.
pub(crate) struct Instance {
    pub(crate) group_id: GroupId,
    /// The replica that this is.
    pub(crate) replica: NodeId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) generation: Generation,
    /// None until there are rows to make it of.
    pub(crate) machine: Mutex<Option<Box<dyn StateMachine>>>,
    factory: Arc<MachineFactory>,
    /// The group's ranges when it was opened: not all of them are its own any more once it founded others.
    pub(crate) first_ranges: Vec<KeyRange>,
    pub(crate) applied: Mutex<AppliedState>,
    /// What a finished flush covers.
    pub(crate) flushed: Mutex<AppliedState>,
    /// Told after each flush, and from time to time.
    pub(crate) after_flush: Notify,
    /// Index up to which the log is to be purged, whoever still lacks it.
    pub(crate) purge_due: watch::Sender<u64>,
    /// Snapshots on their way from here.
    pub(crate) transfers: Arc<Transfers>,
    pub(crate) longer_log: Arc<LongerLog>,
    /// Nothing may change the rows any more. Held while something does.
    pub(crate) retired: Mutex<bool>,
    /// Why it stopped, where that is not the disk's fault.
    pub(crate) stop: Mutex<Option<StopReason>>,
}

impl Instance {
    /// Reads how far the rows are, and makes the machine if there are any. Blocks.
    pub(crate) fn load(
        group_id: GroupId,
        replica: NodeId,
        shared: &Arc<Shared>,
        factory: &Arc<MachineFactory>,
    ) -> Result<Arc<Self>, ApplyError> {
        let generation = shared.state_cell.generation();
        let db = shared.state_cell.get_at(generation)?;
        let applied = load_applied(&StateView::new(&db), group_id)?;
        // Founders have an applied index from the start, others get theirs together with their rows.
        let machine = applied.log_id.map(|_| factory()).transpose()?;
        let first_ranges = machine.as_ref().map(|machine| machine.ranges());
        if let Some(ranges) = &first_ranges {
            record_owned(&db, group_id, ranges)?;
        }
        // Rows of an earlier life of the group in this process may still be in memory only.
        shared.flush_state(&db)?;
        let flushed = applied.clone();
        Ok(Arc::new(Self {
            group_id,
            replica,
            shared: Arc::clone(shared),
            generation,
            machine: Mutex::new(machine),
            factory: Arc::clone(factory),
            first_ranges: first_ranges.unwrap_or_default(),
            applied: Mutex::new(applied),
            flushed: Mutex::new(flushed),
            after_flush: Notify::new(),
            purge_due: watch::Sender::new(0),
            transfers: Arc::default(),
            longer_log: Arc::default(),
            retired: Mutex::new(false),
            stop: Mutex::new(None),
        }))
    }

    /// What the log may be purged below.
    pub(crate) fn purgeable(&self) -> AppliedState {
        if self.shared.is_off(Rule::PurgeBelowFlush) {
            return self.applied.lock().clone();
        }
        self.flushed.lock().clone()
    }

    /// Applies entries: one call of the machine, one batch. Gives one reply an entry. Blocks.
    pub(crate) fn apply(&self, entries: &[Entry]) -> Result<Vec<Bytes>, ApplyError> {
        let result = self.try_apply(entries);
        if let Err(ApplyError::Machine(error)) = &result {
            self.stop_with(StopReason::Machine(error.0.clone()));
        }
        result
    }

    /// The ranges of rows that belong to the group; none before it has rows.
    pub(crate) fn ranges(&self) -> Vec<KeyRange> {
        let machine = self.machine.lock();
        machine
            .as_ref()
            .map(|machine| machine.ranges())
            .unwrap_or_default()
    }

    /// All rows were replaced: the machine is rebuilt, or made if these are the first. Blocks.
    pub(crate) fn restore(&self) -> Result<(), MachineError> {
        let mut machine = self.machine.lock();
        match machine.as_mut() {
            Some(machine) => machine.restored(),
            None => {
                *machine = Some((self.factory)()?);
                Ok(())
            }
        }
    }

    /// Lets nothing change the rows any more: they are another's from now on.
    pub(crate) fn retire(&self) {
        *self.retired.lock() = true;
    }

    /// Stops for good: the first reason counts.
    pub(crate) fn stop_with(&self, reason: StopReason) {
        self.stop.lock().get_or_insert(reason);
    }

    fn try_apply(&self, entries: &[Entry]) -> Result<Vec<Bytes>, ApplyError> {
        let retired = self.retired.lock();
        if *retired {
            return Err(ApplyError::Retired);
        }
        let before = self.applied.lock().clone();
        let mut next = before.clone();
        let committed: Vec<_> = entries.iter().filter_map(committed_entry).collect();
        for entry in entries {
            let asked = entry.log_id.index;
            if next.log_id.is_some_and(|applied| applied.index >= asked) {
                return Err(ApplyError::Repeat {
                    applied: next.index(),
                    asked,
                });
            }
            next.log_id = Some(entry.log_id);
            if let EntryPayload::Membership(membership) = &entry.payload {
                next.membership = StoredMembership::new(Some(entry.log_id), membership.clone());
            }
        }
        let mut machine = self.machine.lock();
        let applied = match machine.as_mut() {
            _ if committed.is_empty() => Applied::default(),
            Some(machine) => machine.apply(&committed)?,
            None => return Err(MachineError::new("entries came before the first rows").into()),
        };
        if applied.replies.len() != committed.len() {
            let (got, wanted) = (applied.replies.len(), committed.len());
            return Err(MachineError::new(format!("{got} replies to {wanted} entries")).into());
        }
        let size_bytes = entries
            .iter()
            .map(|entry| payload_bytes(entry) as u64)
            .sum();
        let children = self.foundings(&applied.founded, entries, &before)?;
        self.write(&applied, &next, &children)?;
        if let Some(machine) = machine.as_mut().filter(|_| !committed.is_empty()) {
            machine.committed();
        }
        drop(machine);
        *self.applied.lock() = next;
        add(&self.shared.counters.applied_entries, entries.len() as u64);
        self.shared.flusher.applied(size_bytes);
        Ok(spread(entries, applied.replies))
    }

    fn write(
        &self,
        applied: &Applied,
        next: &AppliedState,
        children: &[Founding<'_>],
    ) -> Result<(), StateError> {
        let mut batch = WriteBatch::default();
        write_rows(&mut batch, &applied.rows);
        for child in children {
            child.write(&mut batch);
        }
        next.write(self.group_id, &mut batch);
        let db = self.shared.state_cell.get_at(self.generation)?;
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        let size_bytes = batch.size_in_bytes() as u64;
        let hook = self
            .shared
            .before(DiskStep::StateWrite)
            .map_err(|error| error.to_string());
        let written = hook.and_then(|()| {
            db.write_opt(batch, &options)
                .map_err(|error| error.to_string())
        });
        written.map_err(|reason| {
            self.shared.health.fail(classify(&reason));
            StateError::Db(reason)
        })?;
        add(&self.shared.counters.state_batches, 1);
        add(&self.shared.counters.state_bytes, size_bytes);
        Ok(())
    }
}

/// Records the ranges of a group that is being opened, unless they are recorded.
fn record_owned(db: &DB, group_id: GroupId, ranges: &[KeyRange]) -> Result<(), StateError> {
    if load_owned(&StateView::new(db), group_id)?.as_deref() == Some(ranges) {
        return Ok(());
    }
    let (key, value) = owned_row(group_id, ranges);
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    db.put_opt(key, value, &options)
        .map_err(|error| StateError::Db(error.to_string()))
}

fn committed_entry(entry: &Entry) -> Option<Committed<'_>> {
    match &entry.payload {
        EntryPayload::Normal(payload) => {
            let (index, term) = (entry.log_id.index, entry.log_id.leader_id.term);
            Some(Committed {
                index,
                term,
                payload: &payload.0,
            })
        }
        EntryPayload::Blank | EntryPayload::Membership(_) => None,
    }
}

fn payload_bytes(entry: &Entry) -> usize {
    match &entry.payload {
        EntryPayload::Normal(payload) => payload.0.len(),
        EntryPayload::Blank | EntryPayload::Membership(_) => 0,
    }
}

/// The machine's replies at the places of its entries; the others are empty.
fn spread(entries: &[Entry], replies: Vec<Bytes>) -> Vec<Bytes> {
    let mut replies = replies.into_iter();
    let reply_to = |entry: &Entry| match &entry.payload {
        EntryPayload::Normal(_) => replies.next().unwrap_or_default(),
        EntryPayload::Blank | EntryPayload::Membership(_) => Bytes::new(),
    };
    entries.iter().map(reply_to).collect()
}
