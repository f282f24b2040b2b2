//! The leader's part when a new incarnation takes the place of the one before: feed it, then let it vote instead.

use client::CallError;
use raftlog::{ControlError, Group, LeadershipToken, NodeId};
use shard_map::GROUP_ZERO;

use super::replica_id::node_number;
use crate::errors::unavailable;
use crate::node::FrontierNode;

impl FrontierNode {
    /// One step towards a replica voting in a shard in place of every other incarnation of its node. `None`: it does;
    /// else what is waited for. Repeated until done, whoever leads meanwhile.
    ///
    /// # Errors
    ///
    /// Not the shard's leader, or the change was refused.
    pub async fn replace(&self, shard: u64, replica: NodeId) -> Result<Option<String>, CallError> {
        if shard == GROUP_ZERO {
            return self.replace_in_group_zero(replica).await;
        }
        let shard = self.shared_node().shard(shard)?;
        let token = shard.leading()?.token;
        let done = step(shard.group(), token, replica).await;
        done.map_err(|error| match error {
            ControlError::NotLeader => shard.not_leader(),
            other => unavailable(other.to_string()),
        })
    }

    async fn replace_in_group_zero(&self, replica: NodeId) -> Result<Option<String>, CallError> {
        let map = self.map();
        let zero = map
            .and_then(|map| map.zero())
            .ok_or_else(|| unavailable("this node has no group 0"))?;
        let token = zero.leadership().token();
        let token = token.ok_or_else(|| unavailable("this node does not lead group 0"))?;
        let done = step(zero.group(), token, replica).await;
        done.map_err(|error| unavailable(error.to_string()))
    }
}

async fn step(
    group: &Group,
    token: LeadershipToken,
    replica: NodeId,
) -> Result<Option<String>, ControlError> {
    let status = group.status();
    let is_older = |other: &NodeId| {
        *other != replica && node_number(*other) == node_number(replica) && *other < replica
    };
    let is_done = status.voters.contains(&replica)
        && !status.is_joint
        && !status.voters.iter().chain(&status.learners).any(is_older);
    if is_done {
        return Ok(None);
    }
    if !status.voters.contains(&replica) && !status.learners.contains(&replica) {
        group.add_learner(token, replica).await?;
        return Ok(Some("the replica is being fed".to_owned()));
    }
    for older in status.learners.iter().copied().filter(is_older) {
        group.remove_learner(token, older).await?;
    }
    let mut voters = status.voters;
    voters.retain(|voter| !is_older(voter));
    voters.insert(replica);
    match group.change_voters(token, voters).await {
        Ok(()) => Ok(None),
        Err(error @ (ControlError::NotCaughtUp { .. } | ControlError::Unsettled)) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}
