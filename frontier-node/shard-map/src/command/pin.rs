//! `pin`: where the replicas of a group should be, whatever the ring says.

use super::checks;
use crate::{model::ShardMap, refusal::Refusal};
use std::collections::BTreeSet;

/// Pins a group to nodes, or frees it. Moves nothing itself: `placement::repairs` proposes the moves.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Pin {
    /// The shard; 0: the cluster's own group.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// Its nodes, at most as many as a group has voters; empty: the ring decides.
    #[prost(uint32, repeated, tag = "2")]
    pub nodes: Vec<u32>,
}

impl Pin {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        if next.members(self.shard).is_none() {
            return Err(Refusal::UnknownShard(self.shard));
        }
        let nodes: BTreeSet<u32> = self.nodes.iter().copied().collect();
        if nodes.len() < self.nodes.len() || nodes.len() > next.replica_target as usize {
            return Err(Refusal::Invalid(
                "a pin names each node once, and no more than a group has voters",
            ));
        }
        for node in &nodes {
            checks::usable_node(next, *node)?;
        }
        if let Some(members) = next.members_mut(self.shard) {
            members.pinned = nodes.into_iter().collect();
        }
        Ok(None)
    }
}
