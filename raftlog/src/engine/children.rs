//! Groups that another group's entry founded out of its own rows.
//!
//! The entry's batch holds the new group's rows and how far it is ([`Founded`](crate::Founded)); what is left is to make it
//! exist. The order is that of every founding: rows first, flushed, then the log's fields, the descriptor last. So a
//! descriptor says that the founding entry is flushed with its rows, and that entry is never applied here again.

use std::collections::BTreeSet;
use std::sync::Arc;

use rocksdb::{Direction, IteratorMode};

use super::{Engine, Shared};
use crate::db_cell::Generation;
use crate::errors::{GroupError, StateError};
use crate::group::{AppliedState, load_applied};
use crate::ids::GroupId;
use crate::log::{LogField, field_key, fields_start};
use crate::state::StateView;
use crate::wire::DescriptorMsg;

/// What [`Engine::create_child`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildGroup {
    /// It exists since this call: its rows are those of the founding entry, and nothing was applied to it.
    Created,
    /// It existed before, founded or joined. Nothing was changed.
    Existed,
    /// Rows here say that it was founded, and no entry that was applied here did it: they came with a snapshot of the founding
    /// group. It can be joined ([`Engine::create_replica`]).
    Elsewhere,
    /// Nothing here says that it was founded; not any more, if the disk failed and entries are being applied again.
    Unfounded,
}

/// What the state says of a group in one view.
struct Found {
    applied: AppliedState,
    is_named: bool,
    generation: Generation,
}

impl Shared {
    /// Looks for what a founding entry left of a group. Blocks.
    fn find_child(
        &self,
        group_id: GroupId,
        is_named: impl FnOnce(&StateView<'_>) -> bool,
    ) -> Result<Found, StateError> {
        let generation = self.state_cell.generation();
        let db = self.state_cell.get_at(generation)?;
        let view = StateView::new(&db);
        Ok(Found {
            applied: load_applied(&view, group_id)?,
            is_named: is_named(&view),
            generation,
        })
    }

    /// The groups with a descriptor. Blocks.
    fn created(&self) -> Result<BTreeSet<GroupId>, String> {
        let db = self.log_cell.get().map_err(|error| error.to_string())?;
        let (tag, start) = fields_start();
        let mut created = BTreeSet::new();
        for row in db.iterator(IteratorMode::From(&start, Direction::Forward)) {
            let (key, _) = row.map_err(|error| error.to_string())?;
            if key.first() != Some(&tag) {
                break;
            }
            let id = key.get(1..9).and_then(|bytes| bytes.try_into().ok());
            if let Some(group_id) = id.map(u64::from_be_bytes)
                && key.as_ref() == field_key(group_id, LogField::Descriptor)
            {
                created.insert(group_id);
            }
        }
        Ok(created)
    }
}

impl Engine {
    /// Makes a group exist that an entry of another group founded here. Its rows are not touched. Repeating it changes
    /// nothing; a crash on the way leaves nothing or everything. `is_named` says whether the rows of the founding group name
    /// this one as founded; both are looked at in one view, since one batch writes them.
    ///
    /// # Errors
    ///
    /// The log or the state cannot be read, flushed or written.
    pub async fn create_child(
        &self,
        group_id: GroupId,
        is_named: impl FnOnce(&StateView<'_>) -> bool + Send + 'static,
    ) -> Result<ChildGroup, GroupError> {
        if self.shared.descriptor_of(group_id).await?.is_some() {
            return Ok(ChildGroup::Existed);
        }
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let there = Arc::clone(&self.shared);
        let look = move || there.find_child(group_id, is_named);
        let found = self.shared.read_lanes.run(group_id, look).await;
        let found = found.map_err(|error| storage(error.to_string()))?;
        let found = found.map_err(|error| storage(error.to_string()))?;
        if found.applied.log_id.is_none() {
            return Ok(match found.is_named {
                true => ChildGroup::Elsewhere,
                false => ChildGroup::Unfounded,
            });
        }
        let flushed = self.shared.flusher.flush().await;
        flushed.map_err(|error| storage(error.to_string()))?;
        // Rows that were read before the database was opened again may be gone.
        if self.shared.state_cell.generation() != found.generation {
            return Err(storage("the state was opened again meanwhile".to_owned()));
        }
        let descriptor = DescriptorMsg {
            members: found.applied.membership.voter_ids().collect(),
            joined: false,
        };
        self.write_founding(group_id, &descriptor).await?;
        Ok(ChildGroup::Created)
    }

    /// The groups that exist here, open or not: founded, joined, or made of another group's rows.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub async fn created_groups(&self) -> Result<BTreeSet<GroupId>, GroupError> {
        let storage = |reason: String| GroupError::Storage {
            group_id: 0,
            reason,
        };
        let there = Arc::clone(&self.shared);
        let read = self.shared.read_lanes.run(0, move || there.created()).await;
        read.map_err(|error| storage(error.to_string()))?
            .map_err(storage)
    }
}
