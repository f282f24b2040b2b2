//! The founding voters of each group: on every founder, or, where there are more founders than a group should have voters,
//! where the ring places them. The same on all founders, for it follows from the descriptor alone.

use std::collections::{BTreeMap, BTreeSet};

use raftlog::NodeId;
use shard_map::{GROUP_ZERO, placement};

use super::Descriptor;
use crate::cluster::node_number;

/// See the head of this file.
pub(crate) struct FoundingVoters {
    all: BTreeSet<NodeId>,
    /// Of groups that are not on every founder.
    placed: BTreeMap<u64, BTreeSet<NodeId>>,
}

impl FoundingVoters {
    /// Of a cluster whose founding replicas are `all`.
    pub(crate) fn of(descriptor: &Descriptor, all: BTreeSet<NodeId>) -> Self {
        let placed = if descriptor.is_placed() {
            placed(descriptor, &all)
        } else {
            BTreeMap::new()
        };
        Self { all, placed }
    }

    /// Of one group.
    pub(crate) fn of_group(&self, group: u64) -> &BTreeSet<NodeId> {
        self.placed.get(&group).unwrap_or(&self.all)
    }
}

/// As the first map places them, which is founded of the same nodes.
fn placed(descriptor: &Descriptor, all: &BTreeSet<NodeId>) -> BTreeMap<u64, BTreeSet<NodeId>> {
    let shards = descriptor.shards.iter().map(|range| range.shard);
    let groups: Vec<u64> = std::iter::once(GROUP_ZERO).chain(shards).collect();
    let places = placement::founding(&descriptor.founders, descriptor.replicas, &groups);
    let replicas = |nodes: BTreeSet<u32>| {
        let is_there = |id: &&NodeId| nodes.contains(&node_number(**id));
        all.iter().filter(is_there).copied().collect()
    };
    groups
        .into_iter()
        .zip(places.into_iter().map(replicas))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use shard_map::{Body, Identity, Node, ShardMap, apply, command::Found};
    use urlkey::SuffixList;

    fn descriptor(founders: u32, shards: u64, replicas: u32) -> Descriptor {
        let founders = (1..=founders).collect();
        let suffixes = SuffixList::shipped();
        let founded = Descriptor::found(1, founders, shards, &suffixes, None).unwrap();
        founded.wanting(replicas)
    }

    fn voters(descriptor: &Descriptor) -> FoundingVoters {
        let all = descriptor.founders.iter().map(|n| u64::from(*n)).collect();
        FoundingVoters::of(descriptor, all)
    }

    #[test]
    fn few_founders_have_everything_and_many_share_it() {
        for (founders, replicas) in [(1, 3), (2, 3), (3, 3), (3, 0), (7, 7), (7, 0)] {
            let voters = voters(&descriptor(founders, 4, replicas));
            let all: BTreeSet<u64> = (1..=u64::from(founders)).collect();
            for group in 0..=4 {
                assert_eq!(*voters.of_group(group), all, "{founders} of {replicas}");
            }
        }
        let voters = voters(&descriptor(5, 10, 3));
        let mut counts = BTreeMap::new();
        for group in 0..=10 {
            let of_group = voters.of_group(group);
            assert_eq!(of_group.len(), 3, "group {group}");
            for voter in of_group {
                *counts.entry(*voter).or_insert(0) += 1;
            }
        }
        // 33 replicas on five nodes.
        assert_eq!(counts.len(), 5);
        assert!(counts.values().all(|n| (4..=8).contains(n)), "{counts:?}");
    }

    /// The first map must say what the founders made.
    #[test]
    fn the_first_map_has_the_same_places() {
        for (founders, shards, replicas) in [(5, 10, 3), (4, 1, 3), (9, 64, 5), (3, 2, 1)] {
            let descriptor = descriptor(founders, shards, replicas);
            let voters = voters(&descriptor);
            let node = |number: &u32| Node {
                number: *number,
                address: format!("n{number}:1"),
                holds_shards: true,
                ..Node::default()
            };
            let found = Found {
                cluster_id: 1,
                identity: Identity::default(),
                replica_target: replicas,
                shards,
                nodes: descriptor.founders.iter().map(node).collect(),
            };
            let mut map = ShardMap::default();
            apply(&mut map, &Body::Found(found).into()).unwrap();
            for (group, members) in map.groups() {
                let of_map: BTreeSet<u64> = members.voters().map(|r| r.id).collect();
                assert_eq!(*voters.of_group(group), of_map, "group {group}");
            }
        }
    }
}
