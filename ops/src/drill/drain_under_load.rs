//! A node is drained while the crawl goes on, and then given its place back, while something breaks meanwhile: nothing, the
//! process that leads group 0, the node that drains, another one.

use super::args::Common;
use super::limits::QUIET_JOBS_WITHIN;
use super::moving::{Mover, check_voters, replicas_of};
use super::plan::Plan;
use super::rig::Rig;
use super::splitting;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use proto::admin_v1 as pb;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nodes: one more than a shard has voters.
const NODES: u32 = 4;
/// Voters of each shard.
const VOTERS: usize = 3;
/// A kill comes at most so long after the request.
const KILL_WITHIN_MS: usize = 3_000;
/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(2);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(40);

/// What breaks meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    Driver,
    Drained,
    Another,
}

impl Fault {
    /// In turn.
    const fn of(round: u32) -> Self {
        match round % 4 {
            1 => Self::Driver,
            2 => Self::Drained,
            3 => Self::Another,
            _ => Self::Nothing,
        }
    }
}

/// The drill.
pub struct DrainUnderLoad;

impl Drill for DrainUnderLoad {
    const NAME: &'static str = "drain-under-load";
    const ROUNDS: u32 = 3;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        plan.nodes = NODES;
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        let mover = Mover::new(rig)?;
        for number in 1..=rounds {
            let broke = round(rig, &mover, number, &mut measured).await?;
            measured.broke_in(number, broke);
        }
        Ok(measured)
    }
}

/// One drain with its fault; what broke.
async fn round(
    rig: &mut Rig,
    mover: &Mover,
    number: u32,
    measured: &mut Measured,
) -> Result<Vec<String>, CommandError> {
    let (shard, node) = rig.some_leader().await?;
    let before = replicas_of(&mover.places().await?, node);
    let began = Instant::now();
    let job = match mover.drain(node).await {
        Ok(job) => job,
        Err(why) => return Ok(vec![format!("node {node} is not drained: {why}")]),
    };
    let (killed, next) = kill(rig, mover, Fault::of(number), (shard, node)).await?;
    measured.next_lease.push(next);
    let ended = mover.jobs.ended(job, QUIET_JOBS_WITHIN).await;
    let end = splitting::end(job, ended.as_ref());
    let is_done = ended.is_some_and(|job| job.state() == pb::JobState::Done);
    let places = mover.places().await?;
    let left = replicas_of(&places, node);
    let mut broke = Vec::new();
    if !is_done || left > 0 {
        broke.push(format!("node {node} has {left} replicas: {end}"));
    }
    broke.extend(check_voters(&places, VOTERS).err());
    let kill = killed.map_or_else(String::new, |node| format!(", SIGKILL to node {node}"));
    note_round(
        number,
        format_args!(
            "node {node} with {before} replicas drained{kill}; {end} after {} ms; next lease after {} ms",
            began.elapsed().as_millis(),
            next.as_millis()
        ),
    );
    broke.extend(give_back(mover, number, node).await?);
    Ok(broke)
}

/// Kills a node while another one drains, waits for the next lease of its shard, and brings the killed one back; who it was, and
/// how long the lease took.
async fn kill(
    rig: &mut Rig,
    mover: &Mover,
    fault: Fault,
    (shard, drained): (u64, u32),
) -> Result<(Option<u32>, Duration), CommandError> {
    let kill_after = Duration::from_millis(rig.choose(KILL_WITHIN_MS) as u64);
    rig.settle(kill_after).await?;
    let killed = match fault {
        Fault::Nothing => None,
        Fault::Driver => Some(mover.jobs.leader_of_group_0().await?),
        Fault::Drained => Some(drained),
        Fault::Another => (1..=NODES).find(|other| *other != drained),
    };
    let broken = Instant::now();
    if let Some(node) = killed {
        rig.cluster.kill_node(node)?;
    }
    let next = rig.probe_since(broken, shard, killed.as_slice()).first();
    let next = next.await?;
    if let Some(node) = killed {
        rig.settle(AWAY).await?;
        rig.bring_back(node).await?;
    }
    Ok((killed, next))
}

/// Gives a drained node its place back: it gets its share again. What broke.
async fn give_back(mover: &Mover, number: u32, node: u32) -> Result<Vec<String>, CommandError> {
    let mut broke = Vec::new();
    if let Err(why) = mover.undrain(node).await {
        broke.push(format!("node {node} is not given its place back: {why}"));
    }
    if !mover.quiet().await {
        broke.push("jobs go on for ever".to_owned());
    }
    let back = replicas_of(&mover.places().await?, node);
    if back == 0 {
        broke.push(format!("node {node} was undrained and has no replica"));
    }
    note_round(
        number,
        format_args!("node {node} has {back} replicas again"),
    );
    Ok(broke)
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn the_first_round_kills_who_drives() {
        assert_eq!(Fault::of(1), Fault::Driver);
        assert_eq!(Fault::of(4), Fault::Nothing);
    }
}
