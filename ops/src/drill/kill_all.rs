//! All nodes are killed at once and started again: what was committed is there, and no clock runs backwards.

use super::args::Common;
use super::limits::CAUGHT_UP_WITHIN;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(4);
/// What one round takes, about: the hosts in flight wait for their leases' end.
const ROUND: Duration = Duration::from_secs(14);

/// The drill.
pub struct KillAll;

impl Drill for KillAll {
    const NAME: &'static str = "kill-all";
    const ROUNDS: u32 = 3;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(ROUND * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let (shard, _) = rig.some_leader().await?;
            // In an order of its own each time: with the first kill the others have no part in it.
            let mut nodes = rig.cluster.node_numbers();
            let first = rig.choose(nodes.len());
            nodes.rotate_left(first);
            for node in &nodes {
                rig.cluster.kill_node(*node)?;
            }
            let probe = rig.probe(shard, &[]);
            rig.cluster.start_nodes().await?;
            let next = probe.first().await?;
            note_round(
                round,
                format_args!(
                    "SIGKILL to nodes {nodes:?}, started again at once; next lease of shard {shard} after {} ms",
                    next.as_millis()
                ),
            );
            measured.next_lease.push(next);
            for node in nodes {
                rig.control.wait_caught_up(node, CAUGHT_UP_WITHIN).await?;
            }
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}
