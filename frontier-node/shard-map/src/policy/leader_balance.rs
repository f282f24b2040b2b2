//! Who should lead what.
//!
//! First what must be: wishes, and leaderships of nodes that take no replicas. Then an even load: nothing moves before
//! a node is well above the mean, and what moves then brings it well below that, so that a load which wavers does not
//! move leaders to and fro.

use std::collections::{BTreeMap, BTreeSet};

use super::transfer::{Transfer, may_lead, transfers_off};
use crate::model::ShardMap;

/// When leaders are moved, in parts of the mean load of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceRules {
    /// A node that is so much above the mean begins it, percent.
    pub start_percent: u64,
    /// No node above that any more ends it, percent. Smaller than `start_percent`.
    pub stop_percent: u64,
    /// A move is worth it if the fuller node is above the other by so much after it, percent of the mean.
    pub gain_percent: u64,
    /// Transfers for the sake of balance in one answer. What must be is not counted.
    pub transfers: usize,
}

impl Default for BalanceRules {
    fn default() -> Self {
        Self {
            start_percent: 30,
            stop_percent: 10,
            gain_percent: 5,
            transfers: 4,
        }
    }
}

/// The hand-overs that should be made now.
///
/// - `leading`: the leader's node of each group. A group whose leader is not known is left alone.
/// - `loads`: the work that leading each group costs, in any one unit; a missing one counts as none. Hosts and rows do
///   not count, work does.
/// - `down`: nodes that do not answer now; nothing is handed to them.
#[must_use]
pub fn wanted_transfers(
    map: &ShardMap,
    leading: &BTreeMap<u64, u32>,
    loads: &BTreeMap<u64, u64>,
    down: &BTreeSet<u32>,
    rules: &BalanceRules,
) -> Vec<Transfer> {
    let mut transfers = wishes(map, leading, down);
    let mut after = leading.clone();
    apply(&mut after, &transfers);
    let unfit: BTreeSet<u32> = after
        .values()
        .filter(|n| map.node(**n).is_none_or(|node| !node.is_usable()))
        .copied()
        .collect();
    for node in unfit {
        let off = transfers_off(map, node, &after, down);
        apply(&mut after, &off);
        transfers.extend(off);
    }
    let settled: BTreeSet<u64> = transfers.iter().map(|transfer| transfer.shard).collect();
    let mut scales = Scales::new(map, after, loads, settled, down);
    if scales.fullest_is_above(rules.start_percent) {
        for _ in 0..rules.transfers {
            if !scales.fullest_is_above(rules.stop_percent) {
                break;
            }
            let Some(transfer) = scales.best(rules.gain_percent) else {
                break;
            };
            scales.apply(transfer);
            transfers.push(transfer);
        }
    }
    transfers
}

fn wishes(map: &ShardMap, leading: &BTreeMap<u64, u32>, down: &BTreeSet<u32>) -> Vec<Transfer> {
    let wish = |(group, members): (u64, &crate::model::Members)| {
        let (from, to) = (*leading.get(&group)?, members.wished_leader);
        (from != to && may_lead(map, members, down).contains(&to)).then_some(Transfer {
            shard: group,
            from,
            to,
        })
    };
    map.groups().filter_map(wish).collect()
}

fn apply(leading: &mut BTreeMap<u64, u32>, transfers: &[Transfer]) {
    leading.extend(
        transfers
            .iter()
            .map(|transfer| (transfer.shard, transfer.to)),
    );
}

/// What each node carries.
struct Scales<'a> {
    map: &'a ShardMap,
    leading: BTreeMap<u64, u32>,
    /// Of each group that has a known leader.
    weights: BTreeMap<u64, u128>,
    /// Of each node that may lead something.
    nodes: BTreeMap<u32, u128>,
    /// Groups that stay where they are.
    settled: BTreeSet<u64>,
    /// Nodes that do not answer now.
    down: &'a BTreeSet<u32>,
}

impl<'a> Scales<'a> {
    fn new(
        map: &'a ShardMap,
        leading: BTreeMap<u64, u32>,
        loads: &BTreeMap<u64, u64>,
        mut settled: BTreeSet<u64>,
        down: &'a BTreeSet<u32>,
    ) -> Self {
        let load = |group: &u64| u128::from(loads.get(group).copied().unwrap_or(0));
        let total: u128 = leading.keys().map(load).sum();
        // Leading an idle group is some work too: without any load, leaders are balanced by number.
        let idle = (total / (8 * leading.len().max(1) as u128)).max(1);
        let weights: BTreeMap<u64, u128> = leading
            .keys()
            .map(|group| (*group, load(group) + idle))
            .collect();
        let fit = map
            .groups()
            .flat_map(|(_, members)| may_lead(map, members, down));
        let mut nodes: BTreeMap<u32, u128> = fit.map(|node| (node, 0)).collect();
        for (group, node) in &leading {
            if let Some(sum) = nodes.get_mut(node) {
                *sum += weights[group];
            }
        }
        let wished = map.groups().filter(|(_, m)| m.wished_leader != 0);
        settled.extend(wished.map(|(group, _)| group));
        Self {
            map,
            leading,
            weights,
            nodes,
            settled,
            down,
        }
    }

    fn mean_times(&self, percent: u64) -> u128 {
        let total: u128 = self.nodes.values().sum();
        total * u128::from(percent) / (100 * self.nodes.len().max(1) as u128)
    }

    fn fullest(&self) -> Option<(u32, u128)> {
        let nodes = self.nodes.iter().map(|(node, sum)| (*node, *sum));
        nodes.max_by_key(|(node, sum)| (*sum, std::cmp::Reverse(*node)))
    }

    fn fullest_is_above(&self, percent: u64) -> bool {
        self.fullest()
            .is_some_and(|(_, sum)| sum > self.mean_times(100 + percent))
    }

    /// The transfer off the fullest node after which the fuller of the two is the least full, and of those the one to
    /// the emptiest.
    fn best(&self, gain_percent: u64) -> Option<Transfer> {
        let (from, sum) = self.fullest()?;
        let gain = self.mean_times(gain_percent).max(1);
        let led = self.leading.iter().filter(|(_, node)| **node == from);
        let movable = led.filter(|(group, _)| !self.settled.contains(group));
        let options = movable.flat_map(|(group, _)| {
            let weight = self.weights[group];
            let members = self.map.members(*group);
            let others = members
                .map(|m| may_lead(self.map, m, self.down))
                .unwrap_or_default();
            others
                .into_iter()
                .filter(move |n| *n != from)
                .map(move |to| {
                    let then = self.nodes.get(&to).copied().unwrap_or(0) + weight;
                    (then.max(sum - weight), then, *group, to)
                })
        });
        let worth = options.filter(|(fuller, ..)| fuller + gain <= sum);
        worth
            .min()
            .map(|(_, _, shard, to)| Transfer { shard, from, to })
    }

    fn apply(&mut self, transfer: Transfer) {
        let weight = self.weights[&transfer.shard];
        if let Some(sum) = self.nodes.get_mut(&transfer.from) {
            *sum -= weight;
        }
        *self.nodes.entry(transfer.to).or_default() += weight;
        self.leading.insert(transfer.shard, transfer.to);
        self.settled.insert(transfer.shard);
    }
}
