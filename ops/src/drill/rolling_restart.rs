//! Each node in turn is asked to stop, stops cleanly, and is started again.

use super::args::Common;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two nodes.
const BETWEEN: Duration = Duration::from_secs(2);
/// What one node takes, about.
const NODE: Duration = Duration::from_secs(6);

/// The drill.
pub struct RollingRestart;

impl Drill for RollingRestart {
    const NAME: &'static str = "rolling-restart";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(NODE * 3 * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            for node in rig.cluster.node_numbers() {
                let led = led_by(rig, node).await;
                let probe = led.map(|shard| rig.probe(shard, &[node]));
                let asked = Instant::now();
                rig.cluster.terminate_node(node).await?;
                let stopped = asked.elapsed();
                if let Some(probe) = probe {
                    measured.next_lease.push(probe.first().await?);
                }
                rig.bring_back(node).await?;
                note_round(
                    round,
                    format_args!(
                        "node {node} stopped in {} ms and is back after {} ms",
                        stopped.as_millis(),
                        asked.elapsed().as_millis()
                    ),
                );
                rig.settle(BETWEEN).await?;
            }
        }
        Ok(measured)
    }
}

/// A shard that the node leads, if any.
async fn led_by(rig: &Rig, node: u32) -> Option<u64> {
    for shard in rig.control.shards() {
        if rig.control.leader(shard).await == Some(node) {
            return Some(shard);
        }
    }
    None
}
