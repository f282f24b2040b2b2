//! The shares of nodes that have less than they should: nodes that joined, or that were drained and are not any more.

use std::collections::BTreeSet;

use super::on_join::fill;
use super::outlook::Outlook;
use crate::{command::MoveReplica, model::ShardMap};

/// The moves that give each node what all would have at least if all had the same.
///
/// Every move makes the counts more even, and none is proposed once no node has less than that: so asking again and again
/// comes to an end, whoever asks. Nothing is moved off a node that would have less than the one that gets it.
///
/// `down`: nodes that do not answer now; nothing is moved to them.
#[must_use]
pub fn shares(map: &ShardMap, down: &BTreeSet<u32>) -> Vec<MoveReplica> {
    let mut outlook = Outlook::of(map, down);
    let (least, _) = outlook.share();
    let targets = map.usable_nodes().map(|node| node.number);
    let mut lacking: Vec<u32> = targets
        .filter(|node| outlook.is_target(*node) && outlook.count(*node) < least)
        .collect();
    lacking.sort_by_key(|node| (outlook.count(*node), *node));
    let mut moves: Vec<MoveReplica> = Vec::new();
    for node in lacking {
        let planned: BTreeSet<u64> = moves.iter().map(|moved| moved.shard).collect();
        moves.extend(fill(&mut outlook, node, least, true, &planned));
    }
    moves
}
