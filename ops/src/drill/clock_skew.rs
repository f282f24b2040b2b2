//! Nodes whose wall clocks are hours apart and whose monotonic clocks run at different rates; leaders are killed, so that
//! shard time passes from one clock to another.

use super::args::Common;
use super::kill_leader::kill_a_leader;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// Wall offset in ms and rate in parts per million, by node. Within a day, so that no robots file goes stale by it; rates as
/// far off as the rules of shard time (docs/PROTOCOL.md) allow for.
const CLOCKS: [(u32, i64, i64); 3] = [
    (1, -6 * 3_600_000, 500),
    (2, 0, 0),
    (3, 6 * 3_600_000, -500),
];
/// Between two kills.
const BETWEEN: Duration = Duration::from_secs(2);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(7);

/// The drill.
pub struct ClockSkew;

impl Drill for ClockSkew {
    const NAME: &'static str = "clock-skew";
    const ROUNDS: u32 = 4;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        for (node, offset_ms, rate_ppm) in CLOCKS {
            // With `=`, for a negative number looks like a flag.
            let flags = [
                format!("--test-wall-offset={offset_ms}"),
                format!("--test-clock-rate={rate_ppm}"),
            ];
            plan.node_flags.insert(node, flags.to_vec());
        }
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            measured.next_lease.push(kill_a_leader(rig, round).await?);
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}
