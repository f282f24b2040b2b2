//! Loading what a group's log on disk holds.

use std::sync::Arc;

use parking_lot::Mutex;
use prost::Message;
use rocksdb::{DB, Direction, IteratorMode, ReadOptions};

use super::group_log::{GroupLog, LogMemory};
use super::keys::{LogField, entry_key, field_key};
use super::read::DiskReader;
use super::syncer::Syncer;
use super::tail::size_bytes;
use crate::db_cell::DbCell;
use crate::fault::Rule;
use crate::ids::GroupId;
use crate::lanes::Lanes;
use crate::options::EngineOptions;
use crate::raft_types::{Entry, LogId, Vote};
use crate::status::LastReceived;
use crate::wire::{EntryMsg, LogIdMsg, VoteMsg, WireError, decode};

/// Entries looked at to learn where the bytes of a log are.
const SIZE_SAMPLES: u64 = 64;

/// Why a log could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("log: {0}")]
    Db(#[from] rocksdb::Error),
    #[error("log: {0}")]
    Wire(#[from] WireError),
    #[error("log: {0}")]
    State(#[from] crate::errors::StateError),
    #[error("log of group {group_id} has no entry {index}, though it lies between others")]
    Hole { group_id: GroupId, index: u64 },
}

impl GroupLog {
    /// Loads a group's log. Blocks.
    pub(crate) fn load(
        group_id: GroupId,
        cell: &Arc<DbCell>,
        syncer: &Arc<Syncer>,
        lanes: &Arc<Lanes>,
        options: &EngineOptions,
    ) -> Result<Arc<Self>, LoadError> {
        let generation = cell.generation();
        let db = cell.get_at(generation)?;
        let memory = load_memory(&db, group_id)?;
        let disk = DiskReader {
            group_id,
            generation,
            cell: Arc::clone(cell),
            lanes: Arc::clone(lanes),
        };
        Ok(Arc::new(Self {
            group_id,
            generation,
            syncer: Arc::clone(syncer),
            monotonic: Arc::clone(&options.monotonic),
            keeps_old_receipt: options
                .faults
                .as_ref()
                .is_some_and(|faults| faults.is_off(Rule::ReceiptOfNewestEntry)),
            disk,
            memory: Mutex::new(memory),
        }))
    }
}

fn load_memory(db: &DB, group_id: GroupId) -> Result<LogMemory, LoadError> {
    let mut memory = LogMemory {
        purged: field::<LogIdMsg>(db, group_id, LogField::Purged)?.map(LogId::from),
        vote: field::<VoteMsg>(db, group_id, LogField::Vote)?.map(Vote::from),
        committed: field::<LogIdMsg>(db, group_id, LogField::Committed)?.map(LogId::from),
        ..LogMemory::default()
    };
    let last = last_entry(db, group_id, u64::MAX)?;
    memory.last = last
        .as_ref()
        .map(|entry| Entry::from(entry.clone()).log_id)
        .max(memory.purged);
    memory.first = first_index(db, group_id)?.unwrap_or(0);
    if let Some(last) = last.filter(|last| last.index >= memory.first_index()) {
        load_sizes(db, group_id, &last, &mut memory)?;
        memory.last_user = last_user_entry(db, group_id, last.index + 1)?;
    }
    Ok(memory)
}

fn load_sizes(
    db: &DB,
    group_id: GroupId,
    last: &EntryMsg,
    memory: &mut LogMemory,
) -> Result<(), LoadError> {
    let first_index = memory.first_index();
    let step = ((last.index - first_index) / SIZE_SAMPLES).max(1);
    for index in (first_index..last.index).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let entry = entry_at(db, group_id, index)?.ok_or(LoadError::Hole { group_id, index })?;
        if index == first_index {
            let size = size_bytes(&entry.clone().into()) as u64;
            memory
                .marks
                .start_at(entry.end_offset_bytes.saturating_sub(size));
        }
        memory.marks.push(index, entry.end_offset_bytes);
    }
    if last.index == first_index {
        memory.marks.start_at(
            last.end_offset_bytes
                .saturating_sub(size_bytes(&last.clone().into()) as u64),
        );
    }
    memory.marks.push(last.index, last.end_offset_bytes);
    Ok(())
}

/// Reads one of a group's fields.
pub(super) fn field<M: Message + Default>(
    db: &DB,
    group_id: GroupId,
    field: LogField,
) -> Result<Option<M>, LoadError> {
    let value = db.get(field_key(group_id, field))?;
    Ok(value.map(|value| decode("log field", &value)).transpose()?)
}

/// The entry at an index, as stored.
pub(super) fn entry_at(
    db: &DB,
    group_id: GroupId,
    index: u64,
) -> Result<Option<EntryMsg>, LoadError> {
    let value = db.get(entry_key(group_id, index))?;
    Ok(value.map(|value| decode("entry", &value)).transpose()?)
}

/// Index of the first entry on disk.
fn first_index(db: &DB, group_id: GroupId) -> Result<Option<u64>, LoadError> {
    let mut options = ReadOptions::default();
    options.set_iterate_upper_bound(entry_key(group_id, u64::MAX));
    let from = entry_key(group_id, 0);
    let first = db
        .iterator_opt(IteratorMode::From(&from, Direction::Forward), options)
        .next()
        .transpose()?;
    Ok(first
        .map(|(_, value)| decode::<EntryMsg>("entry", &value))
        .transpose()?
        .map(|entry| entry.index))
}

/// The last entry below an index.
pub(super) fn last_entry(
    db: &DB,
    group_id: GroupId,
    below: u64,
) -> Result<Option<EntryMsg>, LoadError> {
    entries_down(db, group_id, below).next().transpose()
}

/// The last entry below an index that a user proposed.
pub(super) fn last_user_entry(
    db: &DB,
    group_id: GroupId,
    below: u64,
) -> Result<Option<LastReceived>, LoadError> {
    for entry in entries_down(db, group_id, below) {
        let entry = entry?;
        if let Some(payload) = entry.payload {
            return Ok(Some(LastReceived {
                index: entry.index,
                payload,
                received: None,
            }));
        }
    }
    Ok(None)
}

fn entries_down(
    db: &DB,
    group_id: GroupId,
    below: u64,
) -> impl Iterator<Item = Result<EntryMsg, LoadError>> + '_ {
    let mut options = ReadOptions::default();
    options.set_iterate_lower_bound(entry_key(group_id, 0));
    options.set_iterate_upper_bound(entry_key(group_id, below));
    let from = entry_key(group_id, below);
    let entries = db.iterator_opt(IteratorMode::From(&from, Direction::Reverse), options);
    entries.map(|entry| Ok(decode("entry", &entry?.1)?))
}
