//! Unsafe recovery: a replica whose group lost its quorum for good goes on alone.
//!
//! What the lost replicas had and this one has not is lost, acknowledged or not. What this one has in its log counts as
//! committed. It goes on under a new id, so that lost replicas that come back after all have nothing to do with it: they
//! speak to the id of before, which is nobody's, and this one speaks to none of them.

use bytes::Bytes;

use super::Engine;
use crate::errors::GroupError;
use crate::group::load_applied;
use crate::ids::{GroupId, NodeId, comes_after};
use crate::log::append_sole_voter;
use crate::state::StateView;

/// What a replica goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoleVoter {
    /// Index of its last entry.
    pub last_index: u64,
    /// Index up to which its rows are.
    pub applied_index: u64,
}

impl Engine {
    /// The id of the replica of a group here.
    ///
    /// # Errors
    ///
    /// [`GroupError::Unknown`], or [`GroupError::Removed`].
    pub async fn replica_here(&self, group_id: GroupId) -> Result<NodeId, GroupError> {
        self.shared.replica_of(group_id).await
    }

    /// Makes the replica of a group here its only voter, as `replica`, and appends `payloads` to its log, which are applied before
    /// anything else is proposed. Durable when this returns; the group must not be open, and is opened afterwards as any. For a group
    /// whose other voters are lost **for good**: those that come back would go on without this one, and both would serve.
    ///
    /// # Errors
    ///
    /// [`GroupError::Removed`] unless the id was issued after the one here; [`GroupError::Invalid`] for a replica that was never fed, or of
    /// another process; [`GroupError::AlreadyOpen`]. See [`GroupError`].
    pub async fn make_sole_voter(
        &self,
        group_id: GroupId,
        replica: NodeId,
        payloads: Vec<Bytes>,
    ) -> Result<SoleVoter, GroupError> {
        self.check_own(group_id, replica)?;
        let _one_at_a_time = self.shared.making.lock().await;
        let own = self.shared.replica_of(group_id).await?;
        if !comes_after(replica, own) {
            return Err(GroupError::Removed {
                group_id,
                replica: own,
            });
        }
        if self.shared.slots.lock().contains_key(&group_id) {
            return Err(GroupError::AlreadyOpen(group_id));
        }
        let there = std::sync::Arc::clone(&self.shared);
        let work = move || -> Result<Option<SoleVoter>, String> {
            let state = there.state_cell.get().map_err(|error| error.to_string())?;
            let applied = load_applied(&StateView::new(&state), group_id);
            let Some(applied) = applied.map_err(|error| error.to_string())?.log_id else {
                return Ok(None);
            };
            let log = there.log_cell.get().map_err(|error| error.to_string())?;
            let last = append_sole_voter(&log, group_id, applied, replica, payloads);
            Ok(Some(SoleVoter {
                last_index: last.map_err(|error| error.to_string())?,
                applied_index: applied.index,
            }))
        };
        let made = self.shared.look(group_id, work).await?;
        made.ok_or_else(|| GroupError::Invalid {
            group_id,
            reason: "the replica here was never fed".to_owned(),
        })
    }
}
