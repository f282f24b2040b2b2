//! The map as it will be when all moves that are under way are done: what placement plans from.

use std::collections::{BTreeMap, BTreeSet};

use super::group_position::group_position;
use crate::model::{Members, Plan, Replica, ReplicaId, ShardMap, Step};
use placement_ring::Ring;

/// Where every group will be.
pub(super) struct Outlook<'a> {
    pub(super) map: &'a ShardMap,
    ring: Ring,
    /// Nodes of each group.
    on: BTreeMap<u64, BTreeSet<u32>>,
    /// Replicas of each usable node.
    counts: BTreeMap<u32, usize>,
    /// Nodes that do not answer now. They stay on the ring, so that a node that is away for a while changes no place.
    down: &'a BTreeSet<u32>,
}

impl<'a> Outlook<'a> {
    pub(super) fn of(map: &'a ShardMap, down: &'a BTreeSet<u32>) -> Self {
        let usable = || map.usable_nodes().map(|node| node.number);
        let on: BTreeMap<u64, BTreeSet<u32>> = map
            .groups()
            .map(|(group, members)| (group, nodes_after(map, group, members)))
            .collect();
        let mut counts: BTreeMap<u32, usize> = usable().map(|node| (node, 0)).collect();
        for node in on.values().flatten() {
            if let Some(count) = counts.get_mut(node) {
                *count += 1;
            }
        }
        Self {
            map,
            ring: Ring::new(usable()),
            on,
            counts,
            down,
        }
    }

    /// Usable nodes in the order in which they should have the group: its pins first, then the ring's.
    pub(super) fn order(&self, group: u64) -> Vec<u32> {
        let pinned = self.map.members(group).map_or(&[][..], |m| &m.pinned[..]);
        let mut order: Vec<u32> = pinned
            .iter()
            .copied()
            .filter(|n| self.is_usable(*n))
            .collect();
        let ring = self.ring.order(group_position(group));
        let rest: Vec<u32> = ring.into_iter().filter(|n| !order.contains(n)).collect();
        order.extend(rest);
        order
    }

    /// Nodes of a group.
    pub(super) fn nodes(&self, group: u64) -> BTreeSet<u32> {
        self.on.get(&group).cloned().unwrap_or_default()
    }

    pub(super) fn is_usable(&self, node: u32) -> bool {
        self.counts.contains_key(&node)
    }

    /// Whether a replica may be moved to it now.
    pub(super) fn is_target(&self, node: u32) -> bool {
        self.is_usable(node) && !self.down.contains(&node)
    }

    /// Replicas of a node.
    pub(super) fn count(&self, node: u32) -> usize {
        self.counts.get(&node).copied().unwrap_or(0)
    }

    /// What each node would have if all had the same, rounded down and up.
    pub(super) fn share(&self) -> (usize, usize) {
        let total: usize = self.on.values().map(BTreeSet::len).sum();
        let nodes = self.counts.len().max(1);
        (total / nodes, total.div_ceil(nodes))
    }

    /// Who should get one more replica of a group: the first of its order that has less than its share, else the emptiest.
    pub(super) fn target(&self, group: u64) -> Option<u32> {
        let is_on = self.nodes(group);
        let (_, most) = self.share();
        let order = self.order(group).into_iter();
        let free: Vec<u32> = order
            .filter(|to| !is_on.contains(to) && self.is_target(*to))
            .collect();
        let mut has_room = free.iter().filter(|to| self.count(**to) < most);
        let first = has_room.next();
        first
            .or_else(|| free.iter().min_by_key(|to| self.count(**to)))
            .copied()
    }

    /// Notes a proposal, so that the next one reckons with it.
    pub(super) fn moves(&mut self, group: u64, from: u32, to: u32) {
        let on = self.on.entry(group).or_default();
        on.remove(&from);
        on.insert(to);
        if let Some(count) = self.counts.get_mut(&from) {
            *count = count.saturating_sub(1);
        }
        *self.counts.entry(to).or_default() += 1;
    }
}

fn nodes_after(map: &ShardMap, group: u64, members: &Members) -> BTreeSet<u32> {
    let mut nodes: BTreeSet<u32> = members.voters().map(Replica::node).collect();
    if let Some(job) = map.job_of_shard(group)
        && let Some(Plan::Move(moved)) = &job.plan
        && matches!(
            job.step(),
            Step::Planned | Step::LearnerAdded | Step::CaughtUp
        )
    {
        nodes.remove(&ReplicaId(moved.old).node());
        nodes.insert(ReplicaId(moved.new).node());
    }
    nodes
}
