//! The share of a new node: what the ring gives it, topped up or cut to what it should have.
//!
//! Only moves to the new node are proposed, so adding the n-th node moves about one n-th. The ring alone is uneven
//! where shards are few; a new node that gets nothing helps nobody, and one that gets everything is the next hot spot.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::outlook::Outlook;
use crate::{command::MoveReplica, model::ShardMap};

/// A group that may give the new node a replica.
struct Candidate {
    group: u64,
    /// The ring gives it to the new node.
    is_of_ring: bool,
}

/// The moves that give a node its share. Empty if it may not have replicas or has its share already.
///
/// Pinned groups stay; groups that have a job are left out and may be proposed when it has ended.
#[must_use]
pub fn on_join(map: &ShardMap, node: u32) -> Vec<MoveReplica> {
    let nobody = BTreeSet::new();
    let mut outlook = Outlook::of(map, &nobody);
    if !outlook.is_usable(node) {
        return Vec::new();
    }
    let (_, most) = outlook.share();
    fill(&mut outlook, node, most, false, &BTreeSet::new())
}

/// Moves to a node until it has `most` replicas, without groups whose move is `planned`. `evens_out`: only off nodes that
/// have no less than the node afterwards.
pub(super) fn fill(
    outlook: &mut Outlook,
    node: u32,
    most: usize,
    evens_out: bool,
    planned: &BTreeSet<u64>,
) -> Vec<MoveReplica> {
    let (least, _) = outlook.share();
    let mut left = candidates(outlook, node);
    left.retain(|candidate| !planned.contains(&candidate.group));
    let mut moves = Vec::new();
    while outlook.count(node) < most {
        let is_topping_up = outlook.count(node) < least;
        let may_give = left.iter().filter(|c| c.is_of_ring || is_topping_up);
        let is_fuller = |from: u32| outlook.count(from) > outlook.count(node) + 1;
        let givers = may_give
            .filter_map(|c| Some((c, giver(outlook, c, node)?)))
            .filter(|(_, from)| !evens_out || is_fuller(*from));
        // The ring's first, and of those what burdens the fullest node.
        let best =
            givers.max_by_key(|(c, from)| (c.is_of_ring, outlook.count(*from), Reverse(c.group)));
        let Some((group, from)) = best.map(|(c, from)| (c.group, from)) else {
            break;
        };
        left.retain(|candidate| candidate.group != group);
        outlook.moves(group, from, node);
        moves.extend(outlook.map.members(group).map(|members| MoveReplica {
            shard: group,
            epoch: members.epoch,
            from,
            to: node,
            ..MoveReplica::default()
        }));
    }
    moves
}

/// Groups that are free, whole, and not on the node.
fn candidates(outlook: &Outlook, node: u32) -> Vec<Candidate> {
    let map = outlook.map;
    let target = map.replica_target as usize;
    let free = map.groups().filter(|(group, members)| {
        let nodes = outlook.nodes(*group);
        let is_whole = nodes.len() >= target && !nodes.contains(&node);
        is_whole && members.pinned.is_empty() && map.job_of_shard(*group).is_none()
    });
    free.map(|(group, _)| Candidate {
        group,
        is_of_ring: outlook.order(group).iter().take(target).any(|n| *n == node),
    })
    .collect()
}

/// Who gives its replica away: the fullest. One that drains gives by its own job; a topping up must leave the giver no
/// emptier than the node.
fn giver(outlook: &Outlook, candidate: &Candidate, node: u32) -> Option<u32> {
    let nodes = outlook.nodes(candidate.group).into_iter();
    let from = nodes
        .filter(|n| outlook.is_usable(*n))
        .max_by_key(|n| (outlook.count(*n), Reverse(*n)))?;
    let is_fuller = outlook.count(from) > outlook.count(node) + 1;
    (candidate.is_of_ring || is_fuller).then_some(from)
}
