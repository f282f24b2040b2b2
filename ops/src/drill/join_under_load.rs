//! New, empty nodes join while the crawl goes on and take their share, while something breaks meanwhile: the process that
//! leads group 0, then the new node itself.

use super::args::Common;
use super::limits::QUIET_JOBS_WITHIN;
use super::moving::{Mover, Places, check_voters, replicas_of};
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Voters of each shard.
const VOTERS: usize = 3;
/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(2);
/// Between two looks at the map.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(30);
/// A new node's kill comes at most so long after its first replica votes.
const KILL_WITHIN_MS: usize = 1_000;

/// The drill.
pub struct JoinUnderLoad;

impl Drill for JoinUnderLoad {
    const NAME: &'static str = "join-under-load";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        plan.joiners = rounds;
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

/// One join with its fault; what broke.
async fn round(
    rig: &mut Rig,
    mover: &Mover,
    number: u32,
    measured: &mut Measured,
) -> Result<Vec<String>, CommandError> {
    let newest = mover.newest_job().await;
    let began = Instant::now();
    let node = rig.join().await?;
    let joined_ms = began.elapsed().as_millis();
    let mut broke = Vec::new();
    if !first_replica(mover, node).await? {
        broke.push(format!("node {node} got no replica by itself"));
    }
    let (killed, next) = kill(rig, mover, number, node).await?;
    measured.next_lease.push(next);
    if !mover.quiet().await {
        broke.push("jobs go on for ever".to_owned());
    }
    let places = mover.places().await?;
    broke.extend(check_voters(&places, VOTERS).err());
    let (share, has) = (share(&places), replicas_of(&places, node));
    let moved = mover.moves_after(newest).await.unwrap_or(0);
    if has < share || moved > has {
        broke.push(format!(
            "node {node} has {has} replicas of a share of {share}, and {moved} were moved"
        ));
    }
    let all: usize = places.values().map(BTreeSet::len).sum();
    note_round(
        number,
        format_args!(
            "node {node} joined in {joined_ms} ms and has {has} replicas, {moved} of {all} moved, SIGKILL to node {killed}; next lease after {} ms",
            next.as_millis()
        ),
    );
    Ok(broke)
}

/// Kills who drives, or every second time the new node, while that gets its share; brings it back. Who it was, and how long the
/// next lease of a busy shard took.
async fn kill(
    rig: &mut Rig,
    mover: &Mover,
    number: u32,
    joined: u32,
) -> Result<(u32, Duration), CommandError> {
    let kill_after = Duration::from_millis(rig.choose(KILL_WITHIN_MS) as u64);
    rig.settle(kill_after).await?;
    let killed = if number.is_multiple_of(2) {
        joined
    } else {
        mover.jobs.leader_of_group_0().await?
    };
    let (shard, broken) = (rig.busiest_shard().await?, Instant::now());
    rig.cluster.kill_node(killed)?;
    let next = rig.probe_since(broken, shard, &[killed]).first().await?;
    rig.settle(AWAY).await?;
    rig.bring_back(killed).await?;
    Ok((killed, next))
}

/// Waits until the new node votes in something.
async fn first_replica(mover: &Mover, node: u32) -> Result<bool, CommandError> {
    let until = Instant::now() + QUIET_JOBS_WITHIN;
    while Instant::now() < until {
        if replicas_of(&mover.places().await?, node) > 0 {
            return Ok(true);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(false)
}

/// What each node that has replicas has at least if all have the same.
fn share(places: &Places) -> usize {
    let nodes: BTreeSet<u32> = places.values().flatten().copied().collect();
    let replicas: usize = places.values().map(BTreeSet::len).sum();
    replicas / nodes.len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_what_all_have_at_least() {
        let on = |nodes: &[u32]| nodes.iter().copied().collect();
        let places: Places = [(0, on(&[1, 2, 3])), (1, on(&[2, 3, 4]))].into();
        assert_eq!(share(&places), 1);
        assert_eq!(share(&Places::new()), 0);
    }
}
