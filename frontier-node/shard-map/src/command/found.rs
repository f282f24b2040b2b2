//! `found`: the first map.

use super::checks;
use crate::{
    limits,
    model::{
        GROUP_ZERO, Identity, Members, Node, NodeState, ReplicaId, Shard, ShardMap, equal_ranges,
    },
    placement,
    refusal::Refusal,
};
use std::collections::BTreeSet;

/// Founds the cluster: shards of equal ranges, replicas placed by the ring.
///
/// Sent again for the same cluster id it changes nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Found {
    /// Random; not 0.
    #[prost(fixed64, tag = "1")]
    pub cluster_id: u64,
    /// What all agree on.
    #[prost(message, required, tag = "2")]
    pub identity: Identity,
    /// Voters that each group should have. With fewer nodes there are fewer until others join.
    #[prost(uint32, tag = "3")]
    pub replica_target: u32,
    /// How many shards.
    #[prost(uint64, tag = "4")]
    pub shards: u64,
    /// The nodes; their states are ignored.
    #[prost(message, repeated, tag = "5")]
    pub nodes: Vec<Node>,
}

impl Found {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        if next.cluster_id != 0 {
            return if next.cluster_id == self.cluster_id {
                Ok(None)
            } else {
                Err(Refusal::AlreadyFounded(next.cluster_id))
            };
        }
        self.check()?;
        let mut nodes = self.nodes.clone();
        nodes.sort_unstable_by_key(|node| node.number);
        for node in &mut nodes {
            node.set_state(NodeState::Up);
        }
        next.cluster_id = self.cluster_id;
        next.identity = self.identity;
        next.replica_target = self.replica_target;
        next.nodes = nodes;
        (next.next_shard, next.next_job) = (self.shards + 1, 1);
        let groups: Vec<u64> = (GROUP_ZERO..=self.shards).collect();
        let usable: Vec<u32> = next.usable_nodes().map(|node| node.number).collect();
        let places = placement::founding(&usable, self.replica_target, &groups);
        let mut places = places.into_iter();
        let mut members = || {
            let on = places.next().unwrap_or_default();
            let ids = on.into_iter().map(|node| {
                let disk = next.node(node).map_or(0, |n| n.incarnation);
                ReplicaId::new(node, disk, 0)
            });
            Members::of(ids, 1)
        };
        let group_zero = members();
        let shards = equal_ranges(self.shards).into_iter().zip(1..);
        let shards = shards
            .map(|((first, last), id)| Shard {
                id,
                first,
                last,
                members: members(),
            })
            .collect();
        (next.group_zero, next.shards) = (group_zero, shards);
        Ok(None)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.cluster_id == 0 {
            return Err(Refusal::Invalid("a cluster's id is not 0"));
        }
        if !(1..=limits::SHARDS as u64).contains(&self.shards) {
            return Err(Refusal::Invalid("the number of shards is from 1 to 16 384"));
        }
        if !(1..=limits::REPLICAS).contains(&self.replica_target) {
            return Err(Refusal::Invalid("a group has from 1 to 7 voters"));
        }
        if !self.nodes.iter().any(|node| node.holds_shards) || self.nodes.len() > limits::NODES {
            return Err(Refusal::Invalid(
                "a cluster has from 1 to 4 096 nodes, and one that holds shards",
            ));
        }
        for node in &self.nodes {
            checks::well_formed(node)?;
        }
        let numbers: BTreeSet<u32> = self.nodes.iter().map(|n| n.number).collect();
        let addresses: BTreeSet<&str> = self.nodes.iter().map(|n| n.address.as_str()).collect();
        if numbers.len().min(addresses.len()) < self.nodes.len() {
            return Err(Refusal::Invalid("two nodes have one number or one address"));
        }
        Ok(())
    }
}
