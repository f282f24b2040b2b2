//! Removing a replica for good.
//!
//! The order makes a crash at any moment harmless: the tombstone with what is to go is durable first, then the rows go and
//! that is flushed, then the log goes in the batch that makes the tombstone a finished one. A crash before the tombstone
//! leaves the replica whole; after it the removal is finished when the engine opens, before any group does. So a replica that
//! has lost rows never takes part, and one that is gone never comes back.

use std::sync::Arc;

use prost::Message;
use rocksdb::{DB, WriteBatch, WriteOptions};

use super::descriptors::all_descriptors;
use super::{Engine, Shared};
use crate::errors::GroupError;
use crate::fault::{DiskStep, Rule};
use crate::group::{GroupSlot, Instance};
use crate::health::classify;
use crate::ids::{GroupId, NodeId, comes_after};
use crate::log::{LogField, LogOp, reset_group};
use crate::rows::KeyRange;
use crate::state::{groups_with_rows, meta_bounds, user_bounds};
use crate::wire::{DescriptorMsg, RangeMsg};

/// The tombstone of a removal that has begun.
fn begun(replica: NodeId, ranges: Vec<KeyRange>) -> DescriptorMsg {
    DescriptorMsg {
        replica,
        removed: true,
        ranges: ranges.into_iter().map(RangeMsg::from).collect(),
        unfinished: true,
        ..DescriptorMsg::default()
    }
}

/// The tombstone that stays.
fn finished(replica: NodeId) -> DescriptorMsg {
    DescriptorMsg {
        replica,
        removed: true,
        ..DescriptorMsg::default()
    }
}

/// Deletes a group's rows and how far they were. Not flushed.
fn erase(db: &DB, group_id: GroupId, ranges: &[RangeMsg]) -> Result<(), rocksdb::Error> {
    let mut batch = WriteBatch::default();
    for range in ranges.iter().cloned().map(KeyRange::from) {
        if !range.is_empty() {
            let (start, end) = user_bounds(&range);
            batch.delete_range(start, end);
        }
    }
    let (start, end) = meta_bounds(group_id);
    batch.delete_range(start, end);
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    db.write_opt(batch, &options)
}

/// Finishes the removals that a crash cut short. Before any group is open; blocks.
pub(super) fn finish_removals(log: &DB, state: &DB, node_id: NodeId) -> Result<(), String> {
    let failed = |error: rocksdb::Error| error.to_string();
    for (group_id, known) in all_descriptors(log, node_id)? {
        if !known.unfinished {
            continue;
        }
        tracing::warn!(group_id, "a removal that was cut short is finished");
        erase(state, group_id, &known.ranges).map_err(failed)?;
        state.flush().map_err(failed)?;
        let mut batch = WriteBatch::default();
        reset_group(
            &mut batch,
            group_id,
            finished(known.replica).encode_to_vec(),
        );
        let mut options = WriteOptions::default();
        options.set_sync(true);
        log.write_opt(batch, &options).map_err(failed)?;
    }
    Ok(())
}

impl Shared {
    /// A group that an entry founded here and that was not made yet. Blocks.
    fn unmade(&self) -> Result<Option<GroupId>, String> {
        let db = self.state_cell.get().map_err(|error| error.to_string())?;
        for group_id in groups_with_rows(&db).map_err(|error| error.to_string())? {
            if self.read_descriptor(group_id)?.is_none() {
                return Ok(Some(group_id));
            }
        }
        Ok(None)
    }

    /// Deletes the rows of a removed group and flushes that. Blocks.
    fn erase_rows(&self, group_id: GroupId, ranges: &[RangeMsg]) -> Result<(), String> {
        let db = self.state_cell.get().map_err(|error| error.to_string())?;
        let written = self
            .before(DiskStep::StateWrite)
            .map_err(|error| error.to_string())
            .and_then(|()| erase(&db, group_id, ranges).map_err(|error| error.to_string()))
            .and_then(|()| self.flush_state(&db).map_err(|error| error.to_string()));
        written.inspect_err(|reason| self.health.fail(classify(reason)))
    }

    /// The rows that are a stopped group's as they are stored now. Blocks.
    fn ranges_of(
        &self,
        slot: Option<&GroupSlot>,
        instance: Option<&Instance>,
        group_id: GroupId,
    ) -> Result<Vec<KeyRange>, GroupError> {
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        if !self.has_rows(group_id).map_err(storage)? {
            return Ok(Vec::new());
        }
        let instance = instance.filter(|instance| {
            instance.stop.lock().is_none()
                && instance.generation == self.state_cell.generation()
                && self.health.failure().is_none()
        });
        if let Some(instance) = instance {
            return Ok(match self.is_off(Rule::RemovalSparesNeighbours) {
                true => instance.first_ranges.clone(),
                false => instance.ranges(),
            });
        }
        let slot = slot.ok_or(GroupError::NotOpen(group_id))?;
        let machine = (slot.factory)();
        let machine = machine.map_err(|error| GroupError::Machine { group_id, error })?;
        Ok(machine.ranges())
    }
}

impl Engine {
    /// Removes a replica for good: ends the group, whose users' calls fail from then on, and deletes its rows and its log.
    /// What stays is a tombstone: no replica of the group comes here again but under an id that was issued later. Rows that
    /// other groups own are not touched. Repeating it changes nothing; after an error it may be repeated, and the group stays
    /// down. A group that was never here gets a tombstone.
    ///
    /// # Errors
    ///
    /// [`GroupError::OtherReplica`] where another replica is here; [`GroupError::Unmade`] while a group that an entry founded
    /// here was not made, so that nothing is left that nobody owns; [`GroupError::NotOpen`] for a group with rows that was not
    /// opened. See [`GroupError`].
    pub async fn remove_group(&self, group_id: GroupId, replica: NodeId) -> Result<(), GroupError> {
        self.check_own(group_id, replica)?;
        let _one_at_a_time = self.shared.making.lock().await;
        if let Some(reason) = self.shared.health.failure() {
            return Err(GroupError::Stopped(reason));
        }
        self.remove_found(group_id, replica).await?;
        if let Some(slot) = self.shared.slot(group_id) {
            self.shared.forget(&slot);
        }
        Ok(())
    }

    /// Removes what is here, if anything is.
    async fn remove_found(&self, group_id: GroupId, replica: NodeId) -> Result<(), GroupError> {
        match self.shared.descriptor_of(group_id).await? {
            Some(known) if known.unfinished => {
                let removed = known.replica;
                self.finish_removal(group_id, known).await?;
                self.raise_tombstone(group_id, replica, removed).await
            }
            Some(known) if known.removed => {
                self.raise_tombstone(group_id, replica, known.replica).await
            }
            Some(known) if known.replica != replica => Err(GroupError::OtherReplica {
                group_id,
                found: known.replica,
            }),
            Some(_) => self.remove(group_id, replica).await,
            None => {
                self.check_children(group_id).await?;
                self.raise_tombstone(group_id, replica, 0).await
            }
        }
    }

    /// Keeps the newest id that was removed.
    async fn raise_tombstone(
        &self,
        group_id: GroupId,
        replica: NodeId,
        removed: NodeId,
    ) -> Result<(), GroupError> {
        if !comes_after(replica, removed) {
            return Ok(());
        }
        let tombstone = finished(replica).encode_to_vec();
        self.write_log(group_id, LogOp::Reset(tombstone)).await
    }

    /// Removes a replica that is here.
    async fn remove(&self, group_id: GroupId, replica: NodeId) -> Result<(), GroupError> {
        // Before it is stopped, so that a refusal changes nothing; and after, since it may have founded one meanwhile.
        self.check_children(group_id).await?;
        let slot = self.shared.slot(group_id);
        let mut instance = None;
        if let Some(slot) = &slot {
            instance = slot.running().ok().map(|running| running.instance);
            slot.request_stop();
            slot.wait_ended().await;
        }
        if let Some(instance) = instance.clone() {
            let retire = move || instance.retire();
            let retired = self.shared.apply_lanes.run(group_id, retire).await;
            retired.map_err(|error| GroupError::Storage {
                group_id,
                reason: error.to_string(),
            })?;
        }
        self.check_children(group_id).await?;
        // What was applied may be lost in a crash, and the ranges with it.
        let flushed = self.shared.flusher.flush().await;
        flushed.map_err(GroupError::Stopped)?;
        let (there, of) = (Arc::clone(&self.shared), slot.clone());
        let look = move || there.ranges_of(of.as_deref(), instance.as_deref(), group_id);
        let ranges = self.shared.apply_lanes.run(group_id, look).await;
        let ranges = ranges.map_err(|error| GroupError::Storage {
            group_id,
            reason: error.to_string(),
        })??;
        // The slot stays until all is done: another try makes the machine anew to learn the ranges.
        self.finish_removal(group_id, begun(replica, ranges)).await
    }

    async fn check_children(&self, group_id: GroupId) -> Result<(), GroupError> {
        let there = Arc::clone(&self.shared);
        let unmade = self.shared.look(group_id, move || there.unmade()).await?;
        unmade.map_or(Ok(()), |child| Err(GroupError::Unmade(child)))
    }

    /// Makes the tombstone durable, deletes what it names, and lets it be a finished one. From the beginning each time: what
    /// an earlier try wrote need not have become durable.
    pub(super) async fn finish_removal(
        &self,
        group_id: GroupId,
        tombstone: DescriptorMsg,
    ) -> Result<(), GroupError> {
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let last = finished(tombstone.replica).encode_to_vec();
        let first = LogOp::Put(LogField::Descriptor, tombstone.encode_to_vec());
        let is_first = !self.shared.is_off(Rule::TombstoneFirst);
        if is_first {
            self.write_log(group_id, first).await?;
        }
        let there = Arc::clone(&self.shared);
        let work = move || there.erase_rows(group_id, &tombstone.ranges);
        let erased = self.shared.apply_lanes.run(group_id, work).await;
        erased
            .map_err(|error| storage(error.to_string()))?
            .map_err(storage)?;
        self.write_log(group_id, LogOp::Reset(last)).await
    }
}
