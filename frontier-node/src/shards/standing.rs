//! How a shard is on this node, without proof of anything.

use std::collections::BTreeSet;

use raftlog::{GroupState, NodeId};

use crate::node::FrontierNode;

/// A shard as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardStanding {
    /// Its epoch, as applied here.
    pub epoch: u64,
    /// Its first partition hash.
    pub first: u64,
    /// Its last one.
    pub last: u64,
    /// The term in which this replica leads it; `None`: it does not.
    pub leader_term: Option<u64>,
    /// An entry of that term was applied, so that the shard answers.
    pub is_proven: bool,
    /// Who leads it, where that is known.
    pub leader: Option<NodeId>,
    /// Index up to which entries are applied here.
    pub applied_index: u64,
    /// Those who vote.
    pub voters: BTreeSet<NodeId>,
    /// Those who are fed without a vote.
    pub learners: BTreeSet<NodeId>,
    /// Its group works here.
    pub is_running: bool,
}

impl FrontierNode {
    /// How a shard is on this node; `None`: its replica is not here, or not open yet.
    pub fn shard_standing(&self, shard: u64) -> Option<ShardStanding> {
        let open = self.shared_node().shards.get(shard)?;
        let extent = open.extent()?;
        let status = open.group().status();
        let leading = open.leading().ok();
        Some(ShardStanding {
            epoch: extent.epoch,
            first: extent.first,
            last: extent.last,
            leader_term: leading.map(|leading| leading.token.term()),
            is_proven: open.proven_term().is_some(),
            leader: status.leader,
            applied_index: status.applied_index,
            voters: status.voters,
            learners: status.learners,
            is_running: status.state == GroupState::Running,
        })
    }

    /// The shards whose replicas are open here.
    pub fn shards(&self) -> Vec<u64> {
        self.shared_node().shards.ids()
    }

    /// The shards that this node's replicas know of: those that are open, and children that are not yet.
    pub fn known_shards(&self) -> Vec<u64> {
        self.shared_node().context.map.own()
    }
}
