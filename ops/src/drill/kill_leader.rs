//! The process that leads a shard is killed; another replica must lead it soon, and no host may notice.

use super::args::Common;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// How long a killed node stays away after its shard leases again.
const AWAY: Duration = Duration::from_secs(1);
/// Between a return and the next kill.
const BETWEEN: Duration = Duration::from_secs(1);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(6);

/// The drill.
pub struct KillLeader;

impl Drill for KillLeader {
    const NAME: &'static str = "kill-leader";
    const ROUNDS: u32 = 5;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(ROUND * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let next = kill_a_leader(rig, round).await?;
            measured.next_lease.push(next);
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

/// One kill, measured, and the node's return.
pub async fn kill_a_leader(rig: &mut Rig, round: u32) -> Result<Duration, CommandError> {
    let (shard, leader) = rig.some_leader().await?;
    let probe = rig.probe(shard, &[leader]);
    rig.cluster.kill_node(leader)?;
    let next = probe.first().await?;
    note_round(
        round,
        format_args!(
            "SIGKILL to node {leader}, which led shard {shard}; next lease after {} ms",
            next.as_millis()
        ),
    );
    rig.settle(AWAY).await?;
    rig.bring_back(leader).await?;
    Ok(next)
}
