//! Groups that another group's entry founded out of its own rows.
//!
//! The entry's batch holds the new group's rows and how far it is ([`Founded`](crate::Founded)); what is left is to make it
//! exist. The order is that of every founding: rows first, flushed, then the log's fields, the descriptor last. So a
//! descriptor says that the founding entry is flushed with its rows, and that entry is never applied here again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::descriptors::all_descriptors;
use super::{Engine, Shared};
use crate::db_cell::Generation;
use crate::errors::{GroupError, StateError};
use crate::group::{AppliedState, load_applied};
use crate::ids::{GroupId, NodeId, comes_after};
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
    /// It was founded here and this replica of it was removed for good. Nothing was changed.
    Removed,
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

    /// The groups that are here. Blocks.
    fn created(&self) -> Result<BTreeSet<GroupId>, String> {
        let db = self.log_cell.get().map_err(|error| error.to_string())?;
        let known = all_descriptors(&db, self.options.node_id)?.into_iter();
        let here = known.filter(|(_, descriptor)| !descriptor.removed);
        Ok(here.map(|(group_id, _)| group_id).collect())
    }
}

impl Engine {
    /// Makes a group exist that an entry of another group founded here, as the replica that the founding group's was: `own`. Its rows are not touched. Repeating it changes
    /// nothing; a crash on the way leaves nothing or everything. `is_named` says whether the rows of the founding group name
    /// this one as founded; both are looked at in one view, since one batch writes them.
    ///
    /// # Errors
    ///
    /// [`GroupError::Invalid`] where the founding entry does not name `own` among the members. Or the log or the state cannot
    /// be read, flushed or written.
    pub async fn create_child(
        &self,
        group_id: GroupId,
        own: NodeId,
        is_named: impl FnOnce(&StateView<'_>) -> bool + Send + 'static,
    ) -> Result<ChildGroup, GroupError> {
        self.check_own(group_id, own)?;
        let _one_at_a_time = self.shared.making.lock().await;
        match self.shared.descriptor_of(group_id).await? {
            Some(known) if !known.removed => return Ok(ChildGroup::Existed),
            Some(known) if !comes_after(own, known.replica) => return Ok(ChildGroup::Removed),
            Some(known) if known.unfinished => self.finish_removal(group_id, known).await?,
            _ => {}
        }
        let there = Arc::clone(&self.shared);
        let look = move || {
            let found = there.find_child(group_id, is_named);
            found.map_err(|error| error.to_string())
        };
        let found = self.shared.look(group_id, look).await?;
        if found.applied.log_id.is_none() {
            return Ok(match found.is_named {
                true => ChildGroup::Elsewhere,
                false => ChildGroup::Unfounded,
            });
        }
        let membership = &found.applied.membership;
        if !membership.nodes().any(|(member, _)| *member == own) {
            return Err(GroupError::Invalid {
                group_id,
                reason: format!("replica {own} is none of its founding members"),
            });
        }
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let flushed = self.shared.flusher.flush().await;
        flushed.map_err(|error| storage(error.to_string()))?;
        // Rows that were read before the database was opened again may be gone.
        if self.shared.state_cell.generation() != found.generation {
            return Err(storage("the state was opened again meanwhile".to_owned()));
        }
        let descriptor = DescriptorMsg {
            members: membership.voter_ids().collect(),
            replica: own,
            ..DescriptorMsg::default()
        };
        self.write_founding(group_id, &descriptor).await?;
        Ok(ChildGroup::Created)
    }

    /// The groups that exist here, open or not: founded, joined, or made of another group's rows. Not those that were removed.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub async fn created_groups(&self) -> Result<BTreeSet<GroupId>, GroupError> {
        let there = Arc::clone(&self.shared);
        self.shared.look(0, move || there.created()).await
    }
}
