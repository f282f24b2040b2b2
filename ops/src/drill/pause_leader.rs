//! The process that leads a shard is stopped until another one leads, then goes on in the belief that it still does.

use super::args::Common;
use super::limits::CAUGHT_UP_WITHIN;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// How long a leader stays stopped after its shard leases again.
const STOPPED: Duration = Duration::from_secs(2);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(1);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(8);

/// The drill.
pub struct PauseLeader;

impl Drill for PauseLeader {
    const NAME: &'static str = "pause-leader";
    const ROUNDS: u32 = 5;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(ROUND * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let (shard, leader) = rig.some_leader().await?;
            let probe = rig.probe(shard, &[leader]);
            rig.cluster.pause_node(leader)?;
            let next = probe.first().await?;
            note_round(
                round,
                format_args!(
                    "SIGSTOP to node {leader}, which led shard {shard}; next lease after {} ms",
                    next.as_millis()
                ),
            );
            measured.next_lease.push(next);
            rig.settle(STOPPED).await?;
            rig.cluster.resume_node(leader)?;
            rig.control.wait_caught_up(leader, CAUGHT_UP_WITHIN).await?;
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}
