//! One group's log: what is known of it in memory, and the queueing of changes.

use std::io;
use std::sync::Arc;

use openraft::EntryPayload;
use parking_lot::Mutex;
use prost::Message;

use super::keys::LogField;
use super::read::DiskReader;
use super::size_marks::SizeMarks;
use super::syncer::{Done, LogOp, Syncer};
use super::tail::{Tail, TailEntry, size_bytes};
use crate::db_cell::Generation;
use crate::ids::GroupId;
use crate::metrics::add;
use crate::options::Monotonic;
use crate::raft_types::{Entry, LogId, Vote};
use crate::status::LastReceived;
use crate::wire::{LogIdMsg, VoteMsg};

/// A group's log on this node, as one generation of the database.
pub(crate) struct GroupLog {
    pub(super) group_id: GroupId,
    pub(super) generation: Generation,
    pub(super) syncer: Arc<Syncer>,
    pub(super) monotonic: Monotonic,
    /// A test wants the receipt of an older entry to count for newer ones.
    pub(super) keeps_old_receipt: bool,
    pub(super) disk: DiskReader,
    pub(super) memory: Mutex<LogMemory>,
}

/// What is known of the log without reading it.
#[derive(Default)]
pub(super) struct LogMemory {
    pub(super) purged: Option<LogId>,
    /// Index of the first entry, where it is above what was purged: a log need not begin with its first index.
    pub(super) first: u64,
    pub(super) last: Option<LogId>,
    pub(super) vote: Option<Vote>,
    pub(super) committed: Option<LogId>,
    pub(super) tail: Tail,
    pub(super) marks: SizeMarks,
    pub(super) last_user: Option<LastReceived>,
}

impl LogMemory {
    /// First index that the log may hold.
    pub(super) fn first_index(&self) -> u64 {
        self.purged
            .map_or(0, |purged| purged.index + 1)
            .max(self.first)
    }

    /// First index behind the log.
    pub(super) fn next_index(&self) -> u64 {
        self.last.map_or(0, |last| last.index + 1)
    }
}

/// Numbers for a status page.
pub(crate) struct LogNumbers {
    pub(crate) last: Option<LogId>,
    pub(crate) purged: Option<LogId>,
    pub(crate) size_bytes: u64,
}

impl GroupLog {
    /// Takes entries: readable on return, durable when `done` is told. Time of receipt is now, which for a leader's
    /// own entries is after they were stamped, so that elapsed time is never over-counted.
    pub(super) fn append(&self, entries: Vec<Entry>, done: Done) {
        let mut received = (self.monotonic)();
        let mut memory = self.memory.lock();
        if self.keeps_old_receipt
            && let Some(old) = memory.last_user.as_ref().and_then(|last| last.received)
        {
            received = old;
        }
        if memory.next_index() <= memory.first_index() {
            memory.first = entries.first().map_or(0, |first| first.log_id.index);
        }
        let mut ends = Vec::with_capacity(entries.len());
        for entry in &entries {
            let end_bytes = memory.marks.end_bytes() + size_bytes(entry) as u64;
            memory.marks.push(entry.log_id.index, end_bytes);
            ends.push(end_bytes);
        }
        // Queued under the lock, so that the queue has the order of the memory.
        let op = LogOp::Append(entries.iter().cloned().zip(ends.iter().copied()).collect());
        let ticket = self.syncer.push(self.group_id, self.generation, op, done);
        let written = self.syncer.written_ticket();
        for (entry, end_bytes) in entries.into_iter().zip(ends) {
            memory.last = Some(entry.log_id);
            if let EntryPayload::Normal(payload) = &entry.payload {
                let (index, payload) = (entry.log_id.index, payload.0.clone());
                memory.last_user = Some(LastReceived {
                    index,
                    payload,
                    received: Some(received),
                });
            }
            memory.tail.push(
                TailEntry {
                    entry,
                    end_bytes,
                    ticket,
                    received,
                },
                written,
            );
        }
    }

    pub(super) async fn save_vote(&self, vote: &Vote) -> io::Result<()> {
        let op = LogOp::Put(LogField::Vote, VoteMsg::from(vote).encode_to_vec());
        self.syncer
            .write(self.group_id, self.generation, op)
            .await?;
        self.memory.lock().vote = Some(*vote);
        Ok(())
    }

    /// Records how far is committed, in the next batch that somebody waits for.
    pub(super) fn save_committed(&self, committed: Option<LogId>) {
        let Some(committed) = committed else { return };
        self.memory.lock().committed = Some(committed);
        let op = LogOp::Put(
            LogField::Committed,
            LogIdMsg::from(&committed).encode_to_vec(),
        );
        self.syncer
            .push(self.group_id, self.generation, op, Done::Nobody);
    }

    /// Drops the entries behind `last`.
    pub(super) async fn truncate_after(&self, last: Option<LogId>) -> io::Result<()> {
        let from = last.map_or(0, |last| last.index + 1);
        if from >= self.memory.lock().next_index() {
            return Ok(());
        }
        let end_bytes = self.end_of(last.map(|last| last.index)).await?;
        let looked_up = self.user_entry_before(from).await?;
        let mut memory = self.memory.lock();
        let purged = memory.purged;
        memory.last = last.max(purged);
        memory.marks.truncate(from.saturating_sub(1), end_bytes);
        memory.tail.truncate_from(from);
        memory.last_user = looked_up;
        self.syncer.push(
            self.group_id,
            self.generation,
            LogOp::Truncate(from),
            Done::Nobody,
        );
        Ok(())
    }

    /// Drops the entries up to `upto`.
    pub(super) fn purge(&self, upto: LogId) {
        let mut memory = self.memory.lock();
        if memory
            .purged
            .is_some_and(|purged| purged.index >= upto.index)
        {
            return;
        }
        let counters = self.syncer.counters();
        add(&counters.purges, 1);
        add(
            &counters.purged_entries,
            (upto.index + 1)
                .min(memory.next_index())
                .saturating_sub(memory.first_index()),
        );
        memory.purged = Some(upto);
        memory.last = memory.last.max(Some(upto));
        memory.tail.purge_to(upto.index);
        memory.marks.purge(upto.index);
        let op = LogOp::Purge(upto.index, LogIdMsg::from(&upto).encode_to_vec());
        self.syncer
            .push(self.group_id, self.generation, op, Done::Nobody);
    }

    /// Drops a log whose tail was replaced by entries that the rows hold. A power cut leaves such a log: an entry is applied
    /// once a quorum has it, and the rows may be durable before this replica's own log is; a snapshot likewise. Every entry
    /// up to `applied` is in the rows, and what follows in this log is of an older term and was never committed. openraft
    /// purges a log that is merely shorter by itself, and takes one with such a tail for corrupted.
    pub(crate) async fn drop_replaced(&self, applied: Option<LogId>) -> io::Result<()> {
        let last = self.memory.lock().last;
        let (Some(applied), Some(last)) = (applied, last) else {
            return Ok(());
        };
        if last >= applied || last.index < applied.index {
            return Ok(());
        }
        tracing::warn!(
            group_id = self.group_id,
            %last,
            %applied,
            "the log's tail was replaced by what is applied, and is dropped"
        );
        let kept = applied
            .index
            .checked_sub(1)
            .map(|index| LogId { index, ..applied });
        self.truncate_after(kept).await?;
        self.purge(applied);
        Ok(())
    }

    async fn end_of(&self, index: Option<u64>) -> io::Result<u64> {
        let Some(index) = index else { return Ok(0) };
        if let Some(entry) = self.memory.lock().tail.get(index) {
            return Ok(entry.end_bytes);
        }
        let found = self.disk.end_of(index).await?;
        Ok(found.unwrap_or_else(|| self.memory.lock().marks.end_bytes()))
    }

    /// The last user entry below `from`. One that is no longer in memory has no known time of receipt.
    async fn user_entry_before(&self, from: u64) -> io::Result<Option<LastReceived>> {
        let first = {
            let memory = self.memory.lock();
            if memory
                .last_user
                .as_ref()
                .is_some_and(|last| last.index < from)
            {
                return Ok(memory.last_user.clone());
            }
            let first = memory.tail.first_index().unwrap_or(from).min(from);
            for index in (first..from).rev() {
                if let Some(TailEntry {
                    entry, received, ..
                }) = memory.tail.get(index)
                    && let EntryPayload::Normal(payload) = &entry.payload
                {
                    return Ok(Some(LastReceived {
                        index,
                        payload: payload.0.clone(),
                        received: Some(*received),
                    }));
                }
            }
            first
        };
        self.disk.last_user_entry(first).await
    }

    /// The last entry that a user proposed, for the time rule.
    pub(crate) fn last_received(&self) -> Option<LastReceived> {
        self.memory.lock().last_user.clone()
    }

    /// Numbers for a status page.
    pub(crate) fn numbers(&self) -> LogNumbers {
        let memory = self.memory.lock();
        LogNumbers {
            last: memory.last,
            purged: memory.purged,
            size_bytes: memory.marks.held_bytes(),
        }
    }

    /// The index up to which the log should be purged, given how far its state is flushed and how much it may keep.
    pub(crate) fn purge_target(
        &self,
        flushed: u64,
        keep_entries: u64,
        keep_bytes: u64,
    ) -> Option<u64> {
        let memory = self.memory.lock();
        let by_count = flushed.checked_sub(keep_entries);
        let by_size = memory
            .marks
            .excess_index(keep_bytes)
            .map(|index| index.min(flushed));
        by_count
            .max(by_size)
            .filter(|target| *target >= memory.first_index() && *target <= flushed)
    }
}
