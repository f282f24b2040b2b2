//! A leadership that should go to another node.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Members, Replica, ShardMap};

/// A hand-over to be made. Raft decides whether it comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// The shard; 0: the cluster's own group.
    pub shard: u64,
    /// The node that leads.
    pub from: u32,
    /// The node that should.
    pub to: u32,
}

/// Nodes that may be given the lead of a group: usable ones that vote in it, on the disk that they have now, and that
/// answer.
pub(super) fn may_lead(map: &ShardMap, members: &Members, down: &BTreeSet<u32>) -> Vec<u32> {
    let is_fit = |replica: &&Replica| {
        map.node(replica.node()).is_some_and(|node| {
            let has_disk = node.incarnation == replica.replica_id().incarnation();
            has_disk && node.is_usable() && !down.contains(&node.number)
        })
    };
    members.voters().filter(is_fit).map(Replica::node).collect()
}

/// How many groups each usable node leads.
fn lead_counts(map: &ShardMap, leading: &BTreeMap<u64, u32>) -> BTreeMap<u32, usize> {
    let mut counts: BTreeMap<u32, usize> = map.usable_nodes().map(|n| (n.number, 0)).collect();
    for node in leading.values() {
        if let Some(count) = counts.get_mut(node) {
            *count += 1;
        }
    }
    counts
}

/// The leaderships of a node, each to the node that leads the fewest then.
pub(crate) fn transfers_off(
    map: &ShardMap,
    node: u32,
    leading: &BTreeMap<u64, u32>,
    down: &BTreeSet<u32>,
) -> Vec<Transfer> {
    let mut counts = lead_counts(map, leading);
    let mut transfers = Vec::new();
    for (group, members) in map.groups() {
        if leading.get(&group) != Some(&node) {
            continue;
        }
        let others = may_lead(map, members, down)
            .into_iter()
            .filter(|n| *n != node);
        let Some(to) = others.min_by_key(|n| (counts.get(n).copied().unwrap_or(0), *n)) else {
            continue;
        };
        *counts.entry(to).or_default() += 1;
        transfers.push(Transfer {
            shard: group,
            from: node,
            to,
        });
    }
    transfers
}
