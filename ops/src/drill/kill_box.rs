//! A box of three is lost at load: its node, the page store in it and the fetcher beside it, at once. The crawl goes on at
//! its rate.

use super::args::Common;
use super::limits::{KEPT_RATE, LEASE_TTL};
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// How long a rate is measured.
const OVER: Duration = Duration::from_secs(10);
/// Between a return and the next measurement.
const BETWEEN: Duration = Duration::from_secs(3);

/// The drill.
pub struct KillBox;

impl Drill for KillBox {
    const NAME: &'static str = "kill-box";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let round = OVER * 2 + LEASE_TTL + BETWEEN * 2;
        let mut plan = Plan::lasting(round * rounds, common);
        plan.fetchers = plan.nodes;
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let before = rig.rate(OVER).await?;
            let (shard, of_box) = rig.some_leader().await?;
            let probe = rig.probe(shard, &[of_box]);
            rig.cluster.kill_node(of_box)?;
            rig.cluster.kill_fetcher(of_box)?;
            measured.next_lease.push(probe.first().await?);
            let during = rig.rate(LEASE_TTL).await?;
            // The hosts that the dead fetcher had are free again.
            let after = rig.rate(OVER).await?;
            note_round(
                round,
                format_args!(
                    "SIGKILL to box {of_box}; requests a second: {before:.1} before, {during:.1} while its leases ran out, {after:.1} after"
                ),
            );
            if after < before * KEPT_RATE {
                measured.broken.push(format!(
                    "without box {of_box} the rate fell from {before:.1} to {after:.1} requests a second"
                ));
            }
            rig.bring_back(of_box).await?;
            rig.cluster.start_fetcher(of_box).await?;
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}
