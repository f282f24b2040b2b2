//! A busy shard is split, again and again, while something else breaks at that moment: nothing, the process that leads the
//! shard, the one that leads group 0, the one that leads the new shard. Hosts of either half must not notice.

use super::args::Common;
use super::limits::{JOB_LOOK_EVERY, JOB_WITHIN, LEASE_WITHIN, MAP_WITHIN, MOST_SHARDS};
use super::plan::Plan;
use super::probe::LeaseProbe;
use super::rig::Rig;
use super::splitting::{self, Begun, Splitter};
use super::{Drill, Measured, note_round, tiling};
use crate::cluster::left;
use crate::output::CommandError;
use proto::admin_v1 as pb;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a killed node stays away after both shards lease again.
const AWAY: Duration = Duration::from_secs(1);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(1);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(8);
/// A kill comes at most so long after the request was sent: before, in and after each step of the job.
const KILL_WITHIN_MS: usize = 60;

/// What breaks beside a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    ParentsLeader,
    LeaderOfGroup0,
    ChildsLeader,
}

impl Fault {
    /// In turn.
    const fn of(round: u32) -> Self {
        match round % 4 {
            1 => Self::Nothing,
            2 => Self::ParentsLeader,
            3 => Self::LeaderOfGroup0,
            _ => Self::ChildsLeader,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing else",
            Self::ParentsLeader => "its leader",
            Self::LeaderOfGroup0 => "the leader of group 0",
            Self::ChildsLeader => "the child's first leader",
        })
    }
}

/// The drill.
pub struct SplitUnderLoad;

impl Drill for SplitUnderLoad {
    const NAME: &'static str = "split-under-load";
    const ROUNDS: u32 = 8;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(ROUND * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        let splitter = Splitter::new(rig)?;
        for round in 1..=rounds {
            rig.control.refresh_map().await?;
            if rig.control.shards().len() >= MOST_SHARDS {
                note_round(round, format_args!("{MOST_SHARDS} shards are enough"));
                break;
            }
            split_once(rig, &splitter, round, &mut measured).await?;
            measured.rounds = Some(round);
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

/// One split with its fault, measured, and the killed node's return.
async fn split_once(
    rig: &mut Rig,
    splitter: &Splitter,
    round: u32,
    measured: &mut Measured,
) -> Result<(), CommandError> {
    let fault = Fault::of(round);
    let shard = rig.busiest_shard().await?;
    let mut killed = victim(rig, splitter, fault, shard).await?;
    let kill_after = Duration::from_millis(rig.choose(KILL_WITHIN_MS) as u64);
    let mut since = Instant::now();
    let break_it = async {
        if let Some(node) = killed {
            tokio::time::sleep(kill_after).await;
            since = Instant::now();
            rig.cluster.kill_node(node)?;
        }
        Ok::<_, CommandError>(rig.probe_since(since, shard, killed.as_slice()))
    };
    let (begun, of_parent) = tokio::join!(splitter.begin(shard), break_it);
    let mut of_parent = of_parent?;
    match begun {
        Err(why) => {
            let words = format!("round {round}: shard {shard} was not split: {why}");
            measured.broken.push(words);
        }
        Ok(begun) => {
            let mut of_child = rig.probe_since(since, begun.child, killed.as_slice());
            if fault == Fault::ChildsLeader
                && let Some(node) = child_leader(rig, splitter, begun).await?
            {
                since = Instant::now();
                rig.cluster.kill_node(node)?;
                killed = Some(node);
                of_parent = rig.probe_since(since, shard, &[node]);
                of_child = rig.probe_since(since, begun.child, &[node]);
            }
            let ended = splitter.ended(begun.job, JOB_WITHIN).await;
            let took = since.elapsed();
            let next = next_lease(rig, ended.as_ref(), of_parent, of_child, round, measured);
            let next_ms = next.await?.as_millis();
            let (end, took_ms) = (
                splitting::words(begun.job, ended.as_ref()),
                took.as_millis(),
            );
            note_round(
                round,
                format_args!(
                    "shard {shard} split, killed: {fault} {killed:?}; {end} after {took_ms} ms; next lease of both after {next_ms} ms"
                ),
            );
            if let Some(ended) = ended {
                check_maps(rig, splitter, &ended, round, measured).await?;
            }
        }
    }
    rig.settle(AWAY).await?;
    match killed {
        Some(node) => rig.bring_back(node).await,
        None => Ok(()),
    }
}

/// The node that is killed right after the request.
async fn victim(
    rig: &Rig,
    splitter: &Splitter,
    fault: Fault,
    shard: u64,
) -> Result<Option<u32>, CommandError> {
    match fault {
        Fault::ParentsLeader => rig.control.wait_leader(shard).await.map(Some),
        Fault::LeaderOfGroup0 => splitter.leader_of_group_0().await.map(Some),
        Fault::Nothing | Fault::ChildsLeader => Ok(None),
    }
}

/// The time to the next lease of parent and child, whichever is later; noted with what broke.
async fn next_lease(
    rig: &Rig,
    ended: Option<&pb::Job>,
    of_parent: LeaseProbe,
    of_child: LeaseProbe,
    round: u32,
    measured: &mut Measured,
) -> Result<Duration, CommandError> {
    let mut next = of_parent.first().await?;
    match ended {
        None => {
            let seconds = JOB_WITHIN.as_secs();
            let words = format!("round {round}: a split had no end after {seconds} s");
            measured.broken.push(words);
        }
        Some(job) if job.state() == pb::JobState::Done => match of_child.first().await {
            Ok(lease) => next = next.max(lease),
            Err(error) => {
                if has_work(rig, job.child).await {
                    let words = format!("round {round}: a child has work, and {error}");
                    measured.broken.push(words);
                }
            }
        },
        Some(_) => {}
    }
    measured.next_lease.push(next);
    Ok(next)
}

/// The node that leads the child, as soon as there is one; none if the job ends before that is seen.
async fn child_leader(
    rig: &Rig,
    splitter: &Splitter,
    begun: Begun,
) -> Result<Option<u32>, CommandError> {
    let until = Instant::now() + JOB_WITHIN;
    while Instant::now() < until {
        if let Some(node) = rig.control.leader(begun.child).await {
            return Ok(Some(node));
        }
        let job = splitter.job(begun.job).await;
        if job.is_some_and(|job| job.state() == pb::JobState::Undone) {
            return Ok(None);
        }
    }
    Err(rig.stuck("a split's child was never led").await)
}

/// Whether a shard has something that it could have leased.
async fn has_work(rig: &Rig, shard: u64) -> bool {
    let all = rig.control.all_statuses(shard).await;
    let newest = all.into_iter().max_by_key(|(_, s)| s.applied_index);
    // One that nobody tells of has not shown that it has none.
    newest.is_none_or(|(_, status)| left(&[status]).may_lease(LEASE_WITHIN))
}

/// The map of group 0 and the map that clients are given have no gap and no overlap, and show the child.
async fn check_maps(
    rig: &Rig,
    splitter: &Splitter,
    ended: &pb::Job,
    round: u32,
    measured: &mut Measured,
) -> Result<(), CommandError> {
    if let Err(why) = tiling::check(&splitter.ranges().await?) {
        let words = format!("round {round}: the map of group 0: {why}");
        measured.broken.push(words);
    }
    let until = Instant::now() + MAP_WITHIN;
    loop {
        rig.control.refresh_map().await?;
        let entries = rig.control.router().shards();
        let ranges: Vec<_> = entries.iter().map(|e| (e.shard, e.first, e.last)).collect();
        let has_child = ended.state() != pb::JobState::Done
            || entries.iter().any(|entry| entry.shard == ended.child);
        match tiling::check(&ranges) {
            Ok(()) if has_child => return Ok(()),
            _ if Instant::now() < until => tokio::time::sleep(JOB_LOOK_EVERY).await,
            other => {
                let why = other.err().unwrap_or_else(|| "has no child".to_owned());
                let words = format!("round {round}: the map that clients are given: {why}");
                measured.broken.push(words);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;
    use std::collections::BTreeSet;

    #[test]
    fn the_faults_take_turns_and_none_is_first() {
        assert_eq!(Fault::of(1), Fault::Nothing);
        let four: BTreeSet<String> = (5..9).map(|round| Fault::of(round).to_string()).collect();
        assert_eq!(four.len(), 4);
    }
}
