//! When nodes join, replicas move and nodes are emptied: drawn from numbers of their own.

use std::sync::Arc;

use super::cluster::Cluster;
use super::moves::{Wish, ask};
use super::plan::Plan;
use super::rng::Rng;

/// Between a node's start and its joining, ms.
const JOINS_AFTER_MS: (u64, u64) = (50, 2_000);
/// How soon after a wish a fault may be made to follow, ms.
const FAULT_AT_MOVE_MS: (u64, u64) = (0, 400);

/// What is to happen.
#[derive(Debug, Clone, Copy)]
enum Act {
    Start(u64),
    Join(u64),
    Wish(Wish),
}

/// The moves of one run.
pub(super) struct MoveSchedule {
    rng: Rng,
    /// The latest first.
    acts: Vec<(u64, Act)>,
}

impl MoveSchedule {
    /// Nodes join in the first half of the faults; wishes come until they end.
    pub(super) fn new(plan: &Plan, (from_ms, until_ms): (u64, u64)) -> Self {
        let mut rng = Rng::new(plan.seed, 12);
        let mut acts = Vec::new();
        for node in plan.founders + 1..=plan.nodes {
            let at_ms = rng.between((from_ms, (from_ms + until_ms) / 2));
            acts.push((at_ms, Act::Start(node)));
            let joins_ms = at_ms + rng.between(JOINS_AFTER_MS);
            acts.push((joins_ms.min(until_ms - 1), Act::Join(node)));
        }
        for _ in 0..plan.moves {
            let at_ms = rng.between((from_ms, until_ms - 1));
            let wish = match rng.below(100) {
                0..60 => Wish::Move(rng.next(), rng.next()),
                60..85 => Wish::Drain(rng.between((1, plan.nodes))),
                _ => Wish::Undrain,
            };
            acts.push((at_ms, Act::Wish(wish)));
        }
        acts.sort_by_key(|(at_ms, _)| std::cmp::Reverse(*at_ms));
        Self { rng, acts }
    }

    /// Does what is due; when a fault is to hit a move on its way.
    pub(super) fn act(&mut self, cluster: &mut Cluster) -> Option<u64> {
        let (_, act) = self.acts.pop_if(|(at_ms, _)| *at_ms <= cluster.awake_ms)?;
        cluster.trace.event(format!("{act:?}"));
        match act {
            Act::Start(node) => cluster.start(node),
            Act::Join(node) => cluster.world.zero.join(node),
            Act::Wish(wish) => cluster.spawn(ask(Arc::clone(&cluster.world), wish)),
        }
        let is_hit = self.rng.chance(500);
        is_hit.then(|| cluster.awake_ms + self.rng.between(FAULT_AT_MOVE_MS))
    }
}
