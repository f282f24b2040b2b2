//! Which moves begin now: what must be repaired, what drains, what a new node should have.

use std::collections::{BTreeMap, BTreeSet};

use shard_map::{
    Job, Plan, ShardMap,
    command::MoveReplica,
    placement::{evacuation, repairs, shares},
};

use crate::limits::EVACUATED_AT_ONCE;

/// What the planners are asked with.
pub(super) struct Situation<'a> {
    pub(super) map: &'a ShardMap,
    /// The node that leads each group, where that is known.
    pub(super) leading: BTreeMap<u64, u32>,
    /// Nodes that do not answer now.
    pub(super) down: BTreeSet<u32>,
    /// A job does not go on: nothing is moved that need not be.
    pub(super) is_stuck: bool,
    /// Moves under way at the same moment.
    pub(super) at_once: usize,
}

/// At most one a group, the most urgent first: repairs, then the way out of nodes that are emptied, then the shares of those
/// that have less. Leaderships of nodes that are emptied are handed over beside it (`balance`); a group whose leader is to
/// hand over is not moved yet.
pub(super) fn wanted(situation: &Situation<'_>) -> Vec<MoveReplica> {
    let Situation { map, down, .. } = situation;
    let is_move = |plan: &Option<Plan>| matches!(plan, Some(Plan::Move(_)));
    let under_way = map.running_jobs().filter(|job| is_move(&job.plan)).count();
    let room = situation.at_once.saturating_sub(under_way);
    let mut moves = repairs(map, down);
    let emptied: Vec<u32> = map.running_jobs().filter_map(Job::evacuates).collect();
    for node in &emptied {
        let leading = &situation.leading;
        moves.extend(evacuation(map, *node, leading, down, EVACUATED_AT_ONCE).moves);
    }
    if emptied.is_empty() && !situation.is_stuck {
        moves.extend(shares(map, down));
    }
    let mut planned = BTreeSet::new();
    moves.retain(|moved| planned.insert(moved.shard));
    moves.truncate(room);
    moves
}
