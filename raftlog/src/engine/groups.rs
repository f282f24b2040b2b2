//! Creating and opening groups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prost::Message;
use rocksdb::{WriteBatch, WriteOptions};
use tokio::sync::mpsc;

use super::{Engine, Shared};
use crate::errors::{GroupError, StopReason};
use crate::group::{
    AppliedState, Group, GroupConfig, GroupSlot, founding_log_id, open_instance, serve_reads,
    supervise,
};
use crate::ids::GroupId;
use crate::limits::{MAX_MEMBERS, MAX_WAITING_READS};
use crate::log::{LogField, LogOp, field_key};
use crate::machine::MachineFactory;
use crate::raft_types::Membership;
use crate::rows::RowBatch;
use crate::state::write_rows;
use crate::wire::{DescriptorMsg, LogIdMsg, VoteMsg, decode};

impl Shared {
    /// What is known of a group that was created here.
    pub(crate) async fn descriptor_of(
        self: &Arc<Self>,
        group_id: GroupId,
    ) -> Result<Option<DescriptorMsg>, GroupError> {
        let shared = Arc::clone(self);
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let work = move || {
            let db = shared.log_cell.get().map_err(|error| error.to_string())?;
            let found = db
                .get(field_key(group_id, LogField::Descriptor))
                .map_err(|error| error.to_string())?;
            let found = found
                .map(|bytes| decode::<DescriptorMsg>("descriptor", &bytes))
                .transpose();
            found.map_err(|error| error.to_string())
        };
        let found = self
            .read_lanes
            .run(group_id, work)
            .await
            .map_err(|error| storage(error.to_string()))?;
        found.map_err(storage)
    }

    /// Writes and flushes what a founder starts with: the rows, and the first membership as applied. Blocks.
    fn write_initial(
        &self,
        group_id: GroupId,
        rows: &RowBatch,
        founded: &AppliedState,
    ) -> Result<(), String> {
        let db = self.state_cell.get().map_err(|error| error.to_string())?;
        let mut batch = WriteBatch::default();
        write_rows(&mut batch, rows);
        founded.write(group_id, &mut batch);
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        db.write_opt(batch, &options)
            .map_err(|error| error.to_string())?;
        self.flush_state(&db).map_err(|error| error.to_string())
    }
}

impl Engine {
    /// Founds a group, as each of its first members does. Repeating it changes nothing; other members are refused. A
    /// crash on the way leaves nothing or everything: rows first, flushed, then the log's fields, the descriptor last.
    pub async fn create_group(&self, config: GroupConfig) -> Result<(), GroupError> {
        let GroupConfig {
            group_id,
            members,
            initial_rows,
        } = config;
        let invalid = |reason: &str| GroupError::Invalid {
            group_id,
            reason: reason.to_owned(),
        };
        if members.is_empty() || members.len() > MAX_MEMBERS || members.contains(&0) {
            return Err(invalid("between 1 and 64 members, none of them 0"));
        }
        if !members.contains(&self.shared.options.node_id) {
            return Err(invalid("this node is not a member"));
        }
        let descriptor = DescriptorMsg {
            members: members.iter().copied().collect(),
            joined: false,
        };
        if self.is_created(group_id, &descriptor).await? {
            return Ok(());
        }
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let membership = Membership::new_with_defaults(vec![members], []);
        let founded = AppliedState::founded(membership);
        let shared = Arc::clone(&self.shared);
        let work = move || shared.write_initial(group_id, &initial_rows, &founded);
        let written = self.shared.apply_lanes.run(group_id, work).await;
        written
            .map_err(|error| storage(error.to_string()))?
            .map_err(storage)?;
        self.write_founding(group_id, &descriptor).await
    }

    /// Writes the log's fields of a group that is founded here, the descriptor last: with it the group exists.
    pub(super) async fn write_founding(
        &self,
        group_id: GroupId,
        descriptor: &DescriptorMsg,
    ) -> Result<(), GroupError> {
        let purged = LogIdMsg::from(&founding_log_id()).encode_to_vec();
        // Nobody's: neither this node nor another is a candidate of term 0.
        let vote = VoteMsg::default().encode_to_vec();
        self.write_field(group_id, LogField::Purged, purged).await?;
        self.write_field(group_id, LogField::Vote, vote).await?;
        self.write_field(group_id, LogField::Descriptor, descriptor.encode_to_vec())
            .await
    }

    /// Makes this node ready to take part in a group that others founded. It begins without rows and without a vote,
    /// and waits until the group's leader adds it
    /// ([`Group::add_learner`](crate::Group::add_learner)) and feeds it, with a snapshot first. Repeating it changes
    /// nothing. A group that was founded here is refused.
    pub async fn create_replica(&self, group_id: GroupId) -> Result<(), GroupError> {
        let descriptor = DescriptorMsg {
            members: Vec::new(),
            joined: true,
        };
        if self.is_created(group_id, &descriptor).await? {
            return Ok(());
        }
        self.write_field(group_id, LogField::Descriptor, descriptor.encode_to_vec())
            .await
    }

    async fn is_created(
        &self,
        group_id: GroupId,
        descriptor: &DescriptorMsg,
    ) -> Result<bool, GroupError> {
        match self.shared.descriptor_of(group_id).await? {
            Some(known) if known == *descriptor => Ok(true),
            Some(_) => Err(GroupError::Conflict(group_id)),
            None => Ok(false),
        }
    }

    /// Writes one of a group's fields to the log, durably.
    async fn write_field(
        &self,
        group_id: GroupId,
        field: LogField,
        value: Vec<u8>,
    ) -> Result<(), GroupError> {
        let generation = self.shared.log_cell.generation();
        let op = LogOp::Put(field, value);
        let written = self.shared.syncer.write(group_id, generation, op).await;
        written.map_err(|error| GroupError::Storage {
            group_id,
            reason: error.to_string(),
        })
    }

    /// Opens a group that was created here: makes its machine, applies again what is committed but was not flushed,
    /// and takes part. `factory` is called again if the group must be reopened after a disk failure.
    pub async fn open_group(
        &self,
        group_id: GroupId,
        factory: MachineFactory,
    ) -> Result<Group, GroupError> {
        if let Some(reason) = self.shared.health.failure() {
            return Err(GroupError::Stopped(reason));
        }
        let (reads, waiting) = mpsc::channel(MAX_WAITING_READS);
        let slot = Arc::new(GroupSlot::new(group_id, factory, reads));
        self.take_slot(&slot)?;
        match open_instance(&slot, &self.shared).await {
            Ok(running) => {
                slot.set_running(running.clone());
                tokio::spawn(serve_reads(
                    Arc::clone(&slot),
                    Arc::clone(&self.shared),
                    waiting,
                ));
                tokio::spawn(supervise(
                    Arc::clone(&slot),
                    Arc::clone(&self.shared),
                    running,
                ));
                Ok(Group {
                    slot,
                    shared: Arc::clone(&self.shared),
                })
            }
            Err(error) => {
                slot.set_busy(false);
                slot.ended.send_replace(true);
                self.shared.forget(&slot);
                Err(error)
            }
        }
    }

    /// A group whose machine failed does not keep its place: it may be opened again.
    fn take_slot(&self, slot: &Arc<GroupSlot>) -> Result<(), GroupError> {
        let mut slots = self.shared.slots.lock();
        if self.shared.closing.load(Ordering::SeqCst) {
            return Err(GroupError::Stopped(StopReason::Shutdown));
        }
        if slots
            .get(&slot.group_id)
            .is_some_and(|known| !*known.ended.borrow())
        {
            return Err(GroupError::AlreadyOpen(slot.group_id));
        }
        slots.insert(slot.group_id, Arc::clone(slot));
        Ok(())
    }

    /// The open group of an id.
    pub fn group(&self, group_id: GroupId) -> Option<Group> {
        let slot = self.shared.slot(group_id)?;
        Some(Group {
            slot,
            shared: Arc::clone(&self.shared),
        })
    }
}
