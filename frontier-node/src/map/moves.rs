//! Which moves and hand-overs begin now: what must be repaired, what drains, what a new node should have.

use std::collections::{BTreeMap, BTreeSet};

use shard_map::{
    Plan, ShardMap,
    command::MoveReplica,
    placement::{evacuation, repairs, shares},
    policy::Transfer,
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

/// What begins now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Leaderships of nodes that drain.
    pub(super) transfers: Vec<Transfer>,
    /// At most one a group.
    pub(super) moves: Vec<MoveReplica>,
}

/// The most urgent first: repairs, then the way out of nodes that are emptied, then the shares of those that have less.
pub(super) fn wanted(situation: &Situation<'_>) -> Wanted {
    let Situation { map, down, .. } = situation;
    let is_move = |plan: &Option<Plan>| matches!(plan, Some(Plan::Move(_)));
    let under_way = map.running_jobs().filter(|job| is_move(&job.plan)).count();
    let room = situation.at_once.saturating_sub(under_way);
    let mut wanted = Wanted {
        moves: repairs(map, down),
        ..Wanted::default()
    };
    let emptied: Vec<u32> = map.running_jobs().filter_map(|job| job.evacuates()).collect();
    for node in &emptied {
        let next = evacuation(map, *node, &situation.leading, down, EVACUATED_AT_ONCE);
        wanted.transfers.extend(next.transfers);
        wanted.moves.extend(next.moves);
    }
    if emptied.is_empty() && !situation.is_stuck {
        wanted.moves.extend(shares(map, down));
    }
    let mut planned = BTreeSet::new();
    wanted.moves.retain(|moved| planned.insert(moved.shard));
    wanted.moves.truncate(room);
    wanted
}
