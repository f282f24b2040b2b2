//! The leader's part when a new incarnation takes the place of the one before: feed it, then let it vote instead.

use client::CallError;
use raftlog::{ControlError, LeadershipToken, NodeId};

use super::replica_id::node_number;
use crate::node::FrontierNode;
use crate::shard::Shard;

impl FrontierNode {
    /// One step towards a replica voting in a shard in place of every other incarnation of its node. `None`: it does;
    /// else what is waited for. Repeated until done, whoever leads meanwhile.
    ///
    /// # Errors
    ///
    /// Not the shard's leader, or the change was refused.
    pub async fn replace(&self, shard: u64, replica: NodeId) -> Result<Option<String>, CallError> {
        let shard = self.shared_node().shard(shard)?;
        let token = shard.leading()?.token;
        step(&shard, token, replica)
            .await
            .map_err(|error| match error {
                ControlError::NotLeader => shard.not_leader(),
                other => crate::errors::unavailable(other.to_string()),
            })
    }
}

async fn step(
    shard: &Shard,
    token: LeadershipToken,
    replica: NodeId,
) -> Result<Option<String>, ControlError> {
    let group = shard.group();
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
