//! The first places: in ring order, none with more than its share.

use std::collections::{BTreeMap, BTreeSet};

use super::group_position::group_position;
use placement_ring::Ring;

/// The nodes of each of these groups, in their order, if these nodes found a cluster that wants so many voters a group.
/// Each node at most once a group; where the shares leave too few, the emptiest nodes take more.
#[must_use]
pub fn founding(nodes: &[u32], replica_target: u32, groups: &[u64]) -> Vec<BTreeSet<u32>> {
    let each = nodes.len().min(replica_target as usize);
    let share = (groups.len() * each).div_ceil(nodes.len().max(1));
    let ring = Ring::new(nodes.iter().copied());
    let mut counts: BTreeMap<u32, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    let mut place = |group: &u64| {
        let order = ring.order(group_position(*group));
        let has_room = |node: &&u32| counts[*node] < share;
        let mut chosen: BTreeSet<u32> = order.iter().filter(has_room).take(each).copied().collect();
        let mut rest: Vec<u32> = order.into_iter().filter(|n| !chosen.contains(n)).collect();
        rest.sort_by_key(|node| counts[node]);
        chosen.extend(rest.into_iter().take(each - chosen.len()));
        for node in &chosen {
            *counts.entry(*node).or_default() += 1;
        }
        chosen
    };
    groups.iter().map(&mut place).collect()
}
