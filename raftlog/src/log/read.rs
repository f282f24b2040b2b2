//! Reading entries: from the tail in memory where they are there, else from disk on a storage thread.

use std::io;
use std::sync::Arc;

use rocksdb::{Direction, IteratorMode, ReadOptions};

use super::group_log::GroupLog;
use super::keys::entry_key;
use super::load::{LoadError, entry_at, last_user_entry};
use super::tail::size_bytes;
use crate::db_cell::{DbCell, Generation};
use crate::ids::GroupId;
use crate::lanes::Lanes;
use crate::raft_types::Entry;
use crate::status::LastReceived;
use crate::wire::{EntryMsg, decode};

/// Reads a group's entries from disk.
pub(super) struct DiskReader {
    pub(super) group_id: GroupId,
    pub(super) generation: Generation,
    pub(super) cell: Arc<DbCell>,
    pub(super) lanes: Arc<Lanes>,
}

impl DiskReader {
    async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&rocksdb::DB, GroupId) -> Result<T, LoadError> + Send + 'static,
    ) -> io::Result<T> {
        let (cell, generation, group_id) = (Arc::clone(&self.cell), self.generation, self.group_id);
        let work = move || read(&*cell.get_at(generation)?, group_id);
        self.lanes
            .run(group_id, work)
            .await
            .map_err(io::Error::other)?
            .map_err(io::Error::other)
    }

    /// End of an entry in the log.
    pub(super) async fn end_of(&self, index: u64) -> io::Result<Option<u64>> {
        self.run(move |db, group_id| {
            Ok(entry_at(db, group_id, index)?.map(|entry| entry.end_offset_bytes))
        })
        .await
    }

    /// The last user entry below an index.
    pub(super) async fn last_user_entry(&self, below: u64) -> io::Result<Option<LastReceived>> {
        self.run(move |db, group_id| last_user_entry(db, group_id, below))
            .await
    }

    /// The entries from `start` on, below `end`, until they are `limit_bytes`.
    async fn entries(&self, start: u64, end: u64, limit_bytes: usize) -> io::Result<Vec<Entry>> {
        self.run(move |db, group_id| {
            let mut options = ReadOptions::default();
            options.set_iterate_upper_bound(entry_key(group_id, end));
            let from = entry_key(group_id, start);
            let mut entries: Vec<Entry> = Vec::new();
            let mut taken_bytes = 0;
            for row in db.iterator_opt(IteratorMode::From(&from, Direction::Forward), options) {
                let entry = Entry::from(decode::<EntryMsg>("entry", &row?.1)?);
                taken_bytes += size_bytes(&entry);
                entries.push(entry);
                if taken_bytes >= limit_bytes {
                    break;
                }
            }
            Ok(entries)
        })
        .await
    }
}

impl GroupLog {
    /// The entries of `start..end` that the log holds, in order and without holes, until they are `limit_bytes`; at
    /// least one if there is any.
    pub(super) async fn read(
        &self,
        start: u64,
        end: u64,
        limit_bytes: usize,
    ) -> io::Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut taken_bytes = 0;
        let mut next = start;
        loop {
            let disk_end = {
                let memory = self.memory.lock();
                if entries.is_empty() {
                    next = next.max(memory.first_index());
                }
                let end = end.min(memory.next_index());
                while next < end && taken_bytes < limit_bytes {
                    let Some(found) = memory.tail.get(next) else {
                        break;
                    };
                    taken_bytes += size_bytes(&found.entry);
                    entries.push(found.entry.clone());
                    next += 1;
                }
                if next >= end || taken_bytes >= limit_bytes {
                    return Ok(entries);
                }
                memory
                    .tail
                    .first_index()
                    .filter(|first| *first > next)
                    .map_or(end, |first| first.min(end))
            };
            let found = self
                .disk
                .entries(next, disk_end, limit_bytes - taken_bytes)
                .await?;
            self.check(next, &found, entries.is_empty())?;
            taken_bytes += found.iter().map(size_bytes).sum::<usize>();
            next = found.last().map_or(next, |last| last.log_id.index + 1);
            entries.extend(found);
        }
    }

    /// Entries from disk must begin where they were asked for. Otherwise they were purged meanwhile, which is fine at
    /// the beginning of a range, or there is a hole.
    fn check(&self, next: u64, found: &[Entry], at_beginning: bool) -> io::Result<()> {
        let consecutive = found
            .windows(2)
            .all(|pair| pair[0].log_id.index + 1 == pair[1].log_id.index);
        let begins = found
            .first()
            .is_some_and(|first| first.log_id.index == next);
        let purged = at_beginning && found.is_empty() && self.memory.lock().first_index() > next;
        if (begins && consecutive) || purged {
            return Ok(());
        }
        let group_id = self.group_id;
        Err(io::Error::other(LoadError::Hole {
            group_id,
            index: next,
        }))
    }
}
