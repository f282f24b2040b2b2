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
            let mut one = Round {
                rig: &mut *rig,
                splitter: &splitter,
                number: round,
                fault: Fault::of(round),
                measured: &mut measured,
            };
            one.run().await?;
            measured.rounds = Some(round);
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

/// One split with its fault.
struct Round<'a> {
    rig: &'a mut Rig,
    splitter: &'a Splitter,
    number: u32,
    fault: Fault,
    measured: &'a mut Measured,
}

/// A shard that is being split: who was killed, when, and who waits for its next lease since then.
struct Parent {
    shard: u64,
    killed: Option<u32>,
    since: Instant,
    probe: LeaseProbe,
}

impl Round<'_> {
    /// Splits, kills, measures, and brings the killed node back.
    async fn run(&mut self) -> Result<(), CommandError> {
        let shard = self.rig.busiest_shard().await?;
        let killed = self.victim(shard).await?;
        let kill_after = Duration::from_millis(self.rig.choose(KILL_WITHIN_MS) as u64);
        let rig = &mut *self.rig;
        let break_it = async {
            let mut since = Instant::now();
            if let Some(node) = killed {
                tokio::time::sleep(kill_after).await;
                since = Instant::now();
                rig.cluster.kill_node(node)?;
            }
            Ok::<_, CommandError>(Parent {
                shard,
                killed,
                since,
                probe: rig.probe_since(since, shard, killed.as_slice()),
            })
        };
        let (begun, parent) = tokio::join!(self.splitter.begin(shard), break_it);
        let killed = match begun {
            Ok(begun) => self.follow(parent?, begun).await?,
            Err(why) => {
                self.broke(&format!("shard {shard} was not split: {why}"));
                parent?.killed
            }
        };
        self.rig.settle(AWAY).await?;
        match killed {
            Some(node) => self.rig.bring_back(node).await,
            None => Ok(()),
        }
    }

    /// The node that is killed right after the request.
    async fn victim(&self, shard: u64) -> Result<Option<u32>, CommandError> {
        match self.fault {
            Fault::ParentsLeader => self.rig.control.wait_leader(shard).await.map(Some),
            Fault::LeaderOfGroup0 => self.splitter.leader_of_group_0().await.map(Some),
            Fault::Nothing | Fault::ChildsLeader => Ok(None),
        }
    }

    /// A split that has begun, to its end; who is dead by then.
    async fn follow(
        &mut self,
        mut parent: Parent,
        begun: Begun,
    ) -> Result<Option<u32>, CommandError> {
        let (shard, child) = (parent.shard, begun.child);
        let mut of_child = self
            .rig
            .probe_since(parent.since, child, parent.killed.as_slice());
        if self.fault == Fault::ChildsLeader
            && let Some(node) = self.child_leader(begun).await?
        {
            let since = Instant::now();
            self.rig.cluster.kill_node(node)?;
            parent = Parent {
                shard,
                killed: Some(node),
                since,
                probe: self.rig.probe_since(since, shard, &[node]),
            };
            of_child = self.rig.probe_since(since, child, &[node]);
        }
        let ended = self.splitter.ended(begun.job, JOB_WITHIN).await;
        let took_ms = parent.since.elapsed().as_millis();
        let next = self.next_lease(ended.as_ref(), parent.probe, of_child);
        let next_ms = next.await?.as_millis();
        let killed = parent.killed;
        let kill = killed.map_or_else(String::new, |node| {
            format!(", SIGKILL to node {node}, {}", self.fault)
        });
        let end = splitting::words(begun.job, ended.as_ref());
        note_round(
            self.number,
            format_args!(
                "shard {shard} split{kill}; {end} after {took_ms} ms; next lease of both after {next_ms} ms"
            ),
        );
        if let Some(ended) = ended {
            self.check_maps(&ended).await?;
        }
        Ok(killed)
    }

    /// The time to the next lease of parent and child, whichever is later; noted with what broke.
    async fn next_lease(
        &mut self,
        ended: Option<&pb::Job>,
        of_parent: LeaseProbe,
        of_child: LeaseProbe,
    ) -> Result<Duration, CommandError> {
        let mut next = of_parent.first().await?;
        match ended {
            None => {
                let seconds = JOB_WITHIN.as_secs();
                self.broke(&format!("a split had no end after {seconds} s"));
            }
            Some(job) if job.state() == pb::JobState::Done => match of_child.first().await {
                Ok(lease) => next = next.max(lease),
                Err(error) => {
                    if has_work(self.rig, job.child).await {
                        self.broke(&format!("a child has work, and {error}"));
                    }
                }
            },
            Some(_) => {}
        }
        self.measured.next_lease.push(next);
        Ok(next)
    }

    /// The node that leads the child, as soon as there is one; none if the job ends before that is seen.
    async fn child_leader(&self, begun: Begun) -> Result<Option<u32>, CommandError> {
        let until = Instant::now() + JOB_WITHIN;
        while Instant::now() < until {
            if let Some(node) = self.rig.control.leader(begun.child).await {
                return Ok(Some(node));
            }
            let job = self.splitter.job(begun.job).await;
            if job.is_some_and(|job| job.state() == pb::JobState::Undone) {
                return Ok(None);
            }
        }
        Err(self.rig.stuck("a split's child was never led").await)
    }

    /// The map of group 0 and the map that clients are given have no gap and no overlap, and show the child.
    async fn check_maps(&mut self, ended: &pb::Job) -> Result<(), CommandError> {
        if let Err(why) = tiling::check(&self.splitter.ranges().await?) {
            self.broke(&format!("the map of group 0: {why}"));
        }
        let child = (ended.state() == pb::JobState::Done).then_some(ended.child);
        let until = Instant::now() + MAP_WITHIN;
        loop {
            self.rig.control.refresh_map().await?;
            let entries = self.rig.control.router().shards();
            let ranges: Vec<_> = entries.iter().map(|e| (e.shard, e.first, e.last)).collect();
            let has_child =
                child.is_none_or(|child| ranges.iter().any(|(shard, ..)| *shard == child));
            match tiling::check(&ranges) {
                Ok(()) if has_child => return Ok(()),
                _ if Instant::now() < until => tokio::time::sleep(JOB_LOOK_EVERY).await,
                other => {
                    let why = other.err().unwrap_or_else(|| "has no child".to_owned());
                    self.broke(&format!("the map that clients are given: {why}"));
                    return Ok(());
                }
            }
        }
    }

    fn broke(&mut self, what: &str) {
        let words = format!("round {}: {what}", self.number);
        self.measured.broken.push(words);
    }
}

/// Whether a shard has something that it could have leased.
async fn has_work(rig: &Rig, shard: u64) -> bool {
    let all = rig.control.all_statuses(shard).await;
    let newest = all.into_iter().max_by_key(|(_, s)| s.applied_index);
    // One that nobody tells of has not shown that it has none.
    newest.is_none_or(|(_, status)| left(&[status]).may_lease(LEASE_WITHIN))
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
