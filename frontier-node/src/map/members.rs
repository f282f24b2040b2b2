//! Changes of a group's members, one step at a time, on its leader: the shards' side of the seam.

use std::collections::BTreeSet;
use std::time::Duration;

use raftlog::{ControlError, Group, LeadershipToken, NodeId};
use shard_map::{Fate, ReplicaId};
use tokio::time::Instant;

use super::shaper::{MemberChange, MemberOrder};
use crate::limits::{SETTLE_MS, SETTLE_PAUSE_MS};
use crate::node::FrontierNode;

/// Why a step was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MemberError {
    /// This node has no replica of the group.
    #[error("group {0} is not here")]
    UnknownGroup(u64),
    /// This replica does not lead it.
    #[error("not the leader of group {0}")]
    NotLeader(u64),
    /// It cannot be while the members are what they are.
    #[error("{0}")]
    Refused(String),
    /// Not yet, or the outcome is unknown: repeat it.
    #[error("{0}")]
    NotYet(String),
}

impl FrontierNode {
    /// Takes one step of a change of members of a group that this node leads. Returns when it is so and committed, now or
    /// before.
    ///
    /// # Errors
    ///
    /// See [`MemberError`].
    pub(crate) async fn change_members(&self, order: &MemberOrder) -> Result<(), MemberError> {
        let mut groups = self.groups().into_iter();
        let group = groups.find(|group| group.group_id() == order.group);
        let group = group.ok_or(MemberError::UnknownGroup(order.group))?;
        let token = group.leadership().borrow().token();
        let token = token.ok_or(MemberError::NotLeader(order.group))?;
        let replica = order.replica;
        let failed = |error| of_control(order.group, error);
        match order.change {
            MemberChange::Add => {
                self.check_not_retired(order)?;
                group.add_learner(token, replica).await.map_err(failed)?;
            }
            MemberChange::CatchUp => return caught_up(&group, replica),
            MemberChange::Vote { old } => {
                let voters = voters_after(&group, replica, old);
                group.change_voters(token, voters).await.map_err(failed)?;
            }
            MemberChange::Remove => {
                group.remove_learner(token, replica).await.map_err(failed)?;
            }
        }
        settled(&group, token).await
    }

    /// A replica that this node's copy of the map calls removed is not fed: who asks is behind.
    fn check_not_retired(&self, order: &MemberOrder) -> Result<(), MemberError> {
        let Some(map) = self.map().map(|map| map.view().map) else {
            return Ok(());
        };
        match map.fate(order.group, ReplicaId(order.replica)) {
            Fate::Retired => Err(MemberError::Refused(format!(
                "replica {} of group {} was removed",
                order.replica, order.group
            ))),
            Fate::Belongs | Fate::NotYetKnown => Ok(()),
        }
    }
}

/// The voters with one in another's place. While they are being changed the group shows both sets together: less the one
/// that goes they are those to come.
fn voters_after(group: &Group, new: NodeId, old: Option<NodeId>) -> BTreeSet<NodeId> {
    let mut voters = group.status().voters;
    voters.insert(new);
    voters.retain(|voter| Some(*voter) != old);
    voters
}

fn caught_up(group: &Group, replica: NodeId) -> Result<(), MemberError> {
    let last = group.status().last_log_index;
    let progress = group.progress();
    if progress.is_empty() {
        return Err(MemberError::NotLeader(group.group_id()));
    }
    let progress = progress
        .get(&replica)
        .ok_or_else(|| MemberError::Refused(format!("replica {replica} is no member")))?;
    let matched = progress.matched_index;
    if matched > 0 && matched.saturating_add(raftlog::limits::MAX_PROMOTION_LAG_ENTRIES) >= last {
        return Ok(());
    }
    Err(MemberError::NotYet(format!(
        "replica {replica} has entries up to {matched} of {last}"
    )))
}

/// Waits until everything in the leader's log is committed: a change that another call made a moment ago too, of which the
/// log only said that it is there.
async fn settled(group: &Group, token: LeadershipToken) -> Result<(), MemberError> {
    let until = Instant::now() + Duration::from_millis(SETTLE_MS);
    let last = group.status().last_log_index;
    loop {
        let status = group.status();
        if status.committed_index >= last && status.term == token.term() {
            return Ok(());
        }
        if status.term != token.term() || Instant::now() >= until {
            let words = "the change is not committed yet".to_owned();
            return Err(MemberError::NotYet(words));
        }
        tokio::time::sleep(Duration::from_millis(SETTLE_PAUSE_MS)).await;
    }
}

fn of_control(group: u64, error: ControlError) -> MemberError {
    match error {
        ControlError::NotLeader => MemberError::NotLeader(group),
        ControlError::IsVoter(_)
        | ControlError::UnknownMember(_)
        | ControlError::BadMembers
        | ControlError::NoVoters => MemberError::Refused(error.to_string()),
        other => MemberError::NotYet(other.to_string()),
    }
}
