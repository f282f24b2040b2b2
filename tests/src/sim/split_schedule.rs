//! When shards are split, and where: drawn from numbers of their own, so that all else of a seed is as it is without splits.

use std::sync::Arc;

use super::cluster::Cluster;
use super::driver::drive;
use super::plan::Plan;
use super::rng::Rng;
use super::splits::{Aim, Wish};
use super::world::partition;

/// How soon after the order of a split a fault may be made to follow, ms.
const FAULT_AT_SPLIT_MS: (u64, u64) = (0, 120);

/// The splits of one run.
pub(super) struct SplitSchedule {
    rng: Rng,
    /// The latest first.
    moments_ms: Vec<u64>,
}

impl SplitSchedule {
    /// Splits come while faults do.
    pub(super) fn new(plan: &Plan, while_ms: (u64, u64)) -> Self {
        let mut rng = Rng::new(plan.seed, 10);
        let mut moments_ms: Vec<u64> = (0..plan.splits).map(|_| rng.between(while_ms)).collect();
        moments_ms.sort_unstable_by(|a, b| b.cmp(a));
        Self { rng, moments_ms }
    }

    /// Does what is due; when a fault is to hit a split on its way.
    pub(super) fn act(&mut self, cluster: &Cluster) -> Option<u64> {
        self.moments_ms.pop_if(|at_ms| *at_ms <= cluster.awake_ms)?;
        let wish = self.wish(&cluster.world.plan);
        cluster.spawn(drive(Arc::clone(&cluster.world), wish));
        let is_hit = self.rng.chance(600);
        is_hit.then(|| cluster.awake_ms + self.rng.between(FAULT_AT_SPLIT_MS))
    }

    fn wish(&mut self, plan: &Plan) -> Wish {
        let rng = &mut self.rng;
        let site = partition(&plan.page(rng.below(plan.hosts)));
        let aim = match rng.below(100) {
            0..35 => Aim::Middle,
            35..60 => Aim::Around(site),
            60..85 => Aim::Before(site),
            _ => Aim::Anywhere(rng.next()),
        };
        let shard = rng.next();
        Wish { shard, aim }
    }

    /// A shard whose leader is to be hit: the first, and after a split any.
    pub(super) fn some_shard(&mut self, cluster: &Cluster) -> u64 {
        if cluster.world.splits.done() == 0 {
            return 1;
        }
        *self.rng.pick(&cluster.world.splits.map().shards())
    }
}
