//! Making groups exist on this node: founding them, or joining what others founded.

use prost::Message;
use rocksdb::{WriteBatch, WriteOptions};

use super::{Engine, Shared};
use crate::errors::GroupError;
use crate::group::{AppliedState, GroupConfig, founding_log_id, load_applied};
use crate::ids::{GroupId, NodeId, comes_after, process_of};
use crate::limits::MAX_MEMBERS;
use crate::log::{LogField, LogOp};
use crate::raft_types::Membership;
use crate::rows::RowBatch;
use crate::state::{StateView, write_rows};
use crate::wire::{DescriptorMsg, LogIdMsg, VoteMsg};

impl Shared {
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

    /// Whether the state holds rows of a group. Blocks.
    pub(crate) fn has_rows(&self, group_id: GroupId) -> Result<bool, String> {
        let db = self.state_cell.get().map_err(|error| error.to_string())?;
        let applied = load_applied(&StateView::new(&db), group_id);
        Ok(applied.map_err(|error| error.to_string())?.log_id.is_some())
    }
}

/// What is here when a replica is to be made.
pub(super) enum Place {
    Free,
    /// It was made before.
    Taken,
    /// An earlier replica of the group was removed: its tombstone is to be replaced.
    Tombstone,
}

impl Engine {
    /// Founds a group, as each of its first members does. The replica here is the one member that this process can be.
    /// Repeating it changes nothing; other members are refused, and so is a group that was removed here. A crash on the way
    /// leaves nothing or everything: rows first, flushed, then the log's fields, the descriptor last.
    ///
    /// # Errors
    ///
    /// See [`GroupError`].
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
        let me = process_of(self.shared.options.node_id);
        let mut own = members.iter().filter(|member| process_of(**member) == me);
        let (Some(replica), None) = (own.next().copied(), own.next()) else {
            return Err(invalid("this node is not a member, or is so twice"));
        };
        let descriptor = DescriptorMsg {
            members: members.iter().copied().collect(),
            replica,
            ..DescriptorMsg::default()
        };
        let _one_at_a_time = self.shared.making.lock().await;
        match self.place(group_id, &descriptor).await? {
            Place::Taken => return Ok(()),
            Place::Tombstone => return Err(GroupError::Removed { group_id, replica }),
            Place::Free => {}
        }
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let membership = Membership::new_with_defaults(vec![members], []);
        let founded = AppliedState::founded(membership);
        let shared = std::sync::Arc::clone(&self.shared);
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
        for (field, value) in [
            (LogField::Purged, purged),
            (LogField::Vote, vote),
            (LogField::Descriptor, descriptor.encode_to_vec()),
        ] {
            self.write_log(group_id, LogOp::Put(field, value)).await?;
        }
        Ok(())
    }

    /// Makes this node ready to take part, as `replica`, in a group that others founded. It begins without rows and without
    /// a vote, and waits until the group's leader adds it
    /// ([`Group::add_learner`](crate::Group::add_learner)) and feeds it, with a snapshot first. Repeating it changes
    /// nothing. A group that was founded here, or joined as another replica, is refused.
    ///
    /// # Errors
    ///
    /// [`GroupError::Removed`] unless the id was issued after the one that was removed here; [`GroupError::Unmade`] where an
    /// entry founded the group here: that replica comes first. See [`GroupError`].
    pub async fn create_replica(
        &self,
        group_id: GroupId,
        replica: NodeId,
    ) -> Result<(), GroupError> {
        self.check_own(group_id, replica)?;
        let descriptor = DescriptorMsg {
            joined: true,
            replica,
            ..DescriptorMsg::default()
        };
        let _one_at_a_time = self.shared.making.lock().await;
        let bytes = descriptor.encode_to_vec();
        let op = match self.place(group_id, &descriptor).await? {
            Place::Taken => return Ok(()),
            Place::Tombstone => LogOp::Reset(bytes),
            Place::Free => LogOp::Put(LogField::Descriptor, bytes),
        };
        let there = std::sync::Arc::clone(&self.shared);
        let look = move || there.has_rows(group_id);
        if self.shared.look(group_id, look).await? {
            return Err(GroupError::Unmade(group_id));
        }
        self.write_log(group_id, op).await
    }

    /// Refuses an id that no replica of this process has.
    pub(super) fn check_own(&self, group_id: GroupId, replica: NodeId) -> Result<(), GroupError> {
        let me = self.shared.options.node_id;
        if process_of(replica) == process_of(me) {
            return Ok(());
        }
        Err(GroupError::Invalid {
            group_id,
            reason: format!("replica {replica} is not of process {me}"),
        })
    }

    /// What is here where a replica is to be made; a removal that was cut short is finished first.
    pub(super) async fn place(
        &self,
        group_id: GroupId,
        descriptor: &DescriptorMsg,
    ) -> Result<Place, GroupError> {
        let Some(known) = self.shared.descriptor_of(group_id).await? else {
            return Ok(Place::Free);
        };
        if !known.removed {
            return match known == *descriptor {
                true => Ok(Place::Taken),
                false => Err(GroupError::Conflict(group_id)),
            };
        }
        let removed = known.replica;
        if !comes_after(descriptor.replica, removed) {
            let replica = removed;
            return Err(GroupError::Removed { group_id, replica });
        }
        if known.unfinished {
            self.finish_removal(group_id, known).await?;
        }
        Ok(Place::Tombstone)
    }

    /// Changes a group's log, durably.
    pub(super) async fn write_log(&self, group_id: GroupId, op: LogOp) -> Result<(), GroupError> {
        let generation = self.shared.log_cell.generation();
        let written = self.shared.syncer.write(group_id, generation, op).await;
        written.map_err(|error| GroupError::Storage {
            group_id,
            reason: error.to_string(),
        })
    }
}
