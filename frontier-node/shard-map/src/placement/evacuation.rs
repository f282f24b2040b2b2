//! The way out of a node that drains or is dead: leaders first, then replica after replica.

use std::collections::{BTreeMap, BTreeSet};

use super::outlook::Outlook;
use crate::{
    command::MoveReplica,
    model::{Plan, ShardMap},
    policy::{self, Transfer},
};

/// What to do next so that a node becomes empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evacuate {
    /// Leaderships to hand over, at once.
    pub transfers: Vec<Transfer>,
    /// Replicas to move.
    pub moves: Vec<MoveReplica>,
}

/// What to do next for a node that is being emptied; nothing if it is not, or while nothing can be done.
///
/// - `leading`: the leader's node of each group, as far as it is known.
/// - `down`: nodes that do not answer now; nothing is given to them.
/// - `at_once`: moves that may be under way off this node at the same moment, those that are so already included. Each one
///   feeds a whole replica.
///
/// A group is moved only after another node leads it: the leader that feeds a learner should be one that stays.
#[must_use]
pub fn evacuation(
    map: &ShardMap,
    node: u32,
    leading: &BTreeMap<u64, u32>,
    down: &BTreeSet<u32>,
    at_once: usize,
) -> Evacuate {
    let Some(job) = map.job_of_node(node) else {
        return Evacuate::default();
    };
    let mut outlook = Outlook::of(map, down);
    let transfers = match &job.plan {
        // A dead node leads nothing.
        Some(Plan::Replace(_)) => Vec::new(),
        _ => policy::transfers_off(map, node, leading, down),
    };
    let is_handed_over = |group: u64| transfers.iter().all(|transfer| transfer.shard != group);
    let is_off = |members: &crate::model::Members| members.voter_on(node).is_some();
    let (busy, free): (Vec<_>, Vec<_>) = map
        .groups()
        .filter(|(_, members)| is_off(members))
        .partition(|(group, _)| map.job_of_shard(*group).is_some());
    let room = at_once.saturating_sub(busy.len());
    let mut moves = Vec::new();
    for (group, members) in free {
        if moves.len() == room {
            break;
        }
        let target = outlook.target(group).filter(|_| is_handed_over(group));
        if let Some(to) = target {
            outlook.moves(group, node, to);
            moves.push(MoveReplica {
                shard: group,
                epoch: members.epoch,
                from: node,
                to,
                ..MoveReplica::default()
            });
        }
    }
    Evacuate { transfers, moves }
}
