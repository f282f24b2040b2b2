//! The newest entries of a group's log in memory: what is not written yet, and what will be read back soon.

use std::collections::VecDeque;
use std::time::Instant;

use openraft::EntryPayload;

use crate::limits::TAIL_CACHE_BYTES;
use crate::raft_types::Entry;

/// One entry in memory.
#[derive(Debug, Clone)]
pub(super) struct TailEntry {
    pub(super) entry: Entry,
    /// Its end in the log, see [`SizeMarks`](super::size_marks::SizeMarks).
    pub(super) end_bytes: u64,
    /// Place in the syncer's queue. Not to be dropped before that is written.
    pub(super) ticket: u64,
    /// When this process received it.
    pub(super) received: Instant,
}

/// Consecutive entries up to the last one of the log.
#[derive(Debug, Default)]
pub(super) struct Tail {
    entries: VecDeque<TailEntry>,
    size_bytes: usize,
}

impl Tail {
    /// Adds the next entry, then drops old ones that are written, up to ticket `written`, while over the bound.
    pub(super) fn push(&mut self, entry: TailEntry, written: u64) {
        self.size_bytes += size_bytes(&entry.entry);
        self.entries.push_back(entry);
        while self.size_bytes > TAIL_CACHE_BYTES {
            let Some(dropped) = self.entries.pop_front_if(|entry| entry.ticket <= written) else {
                break;
            };
            self.size_bytes -= size_bytes(&dropped.entry);
        }
    }

    /// Index of the first entry in memory.
    pub(super) fn first_index(&self) -> Option<u64> {
        self.entries.front().map(|first| first.entry.log_id.index)
    }

    /// The entry at an index.
    pub(super) fn get(&self, index: u64) -> Option<&TailEntry> {
        let place = index.checked_sub(self.first_index()?)?;
        self.entries.get(usize::try_from(place).ok()?)
    }

    /// Drops the entries from `index` on.
    pub(super) fn truncate_from(&mut self, index: u64) {
        while let Some(dropped) = self
            .entries
            .pop_back_if(|entry| entry.entry.log_id.index >= index)
        {
            self.size_bytes -= size_bytes(&dropped.entry);
        }
    }

    /// Drops the entries up to `index`.
    pub(super) fn purge_to(&mut self, index: u64) {
        while let Some(dropped) = self
            .entries
            .pop_front_if(|entry| entry.entry.log_id.index <= index)
        {
            self.size_bytes -= size_bytes(&dropped.entry);
        }
    }
}

/// Bytes that an entry counts in caches and batches.
pub(super) fn size_bytes(entry: &Entry) -> usize {
    let payload = match &entry.payload {
        EntryPayload::Normal(payload) => payload.0.len(),
        EntryPayload::Blank | EntryPayload::Membership(_) => 64,
    };
    payload + 64
}
