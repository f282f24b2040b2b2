//! A replica of a busy shard is moved to another node, again and again, while something breaks at a step of the move: nothing,
//! the process that leads group 0 and drives it, the one that leads the shard, the node that gets the replica, the node that
//! gives it away. Hosts of the shard must not notice.

use super::args::Common;
use super::limits::{JOB_LOOK_EVERY, JOB_WITHIN, MAP_WITHIN};
use super::moving::{Mover, check_voters};
use super::plan::Plan;
use super::rig::Rig;
use super::splitting;
use super::{Drill, Measured, note_round, tiling};
use crate::output::CommandError;
use client::Frontier;
use proto::admin_v1 as pb;
use proto::frontier_v1::ShardStatusRequest;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nodes: one more than a shard has voters, so that there is somewhere to go.
const NODES: u32 = 4;
/// Voters of each shard.
const VOTERS: usize = 3;
/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(2);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(1);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(9);
/// The steps at which something breaks, each with those after it: one that is over before it is seen counts.
const STEPS: [&[&str]; 4] = [
    &["planned", "learner added", "caught up", "voters changed"],
    &["learner added", "caught up", "voters changed"],
    &["caught up", "voters changed"],
    &["voters changed"],
];

/// What breaks beside a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    Driver,
    Leader,
    NewNode,
    OldNode,
}

impl Fault {
    /// In turn, each at each step: five faults and four steps have no common divisor.
    const fn of(round: u32) -> Self {
        match round % 5 {
            1 => Self::Nothing,
            2 => Self::Driver,
            3 => Self::Leader,
            4 => Self::NewNode,
            _ => Self::OldNode,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing else",
            Self::Driver => "the leader of group 0",
            Self::Leader => "the shard's leader",
            Self::NewNode => "the new replica's node",
            Self::OldNode => "the old replica's node",
        })
    }
}

/// The drill.
pub struct MoveUnderLoad;

impl Drill for MoveUnderLoad {
    const NAME: &'static str = "move-under-load";
    const ROUNDS: u32 = 10;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        plan.nodes = NODES;
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        let mover = Mover::new(rig)?;
        for number in 1..=rounds {
            let mut round = Round {
                rig: &mut *rig,
                mover: &mover,
                number,
                fault: Fault::of(number),
                measured: &mut measured,
            };
            round.run().await?;
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

/// One move with its fault.
struct Round<'a> {
    rig: &'a mut Rig,
    mover: &'a Mover,
    number: u32,
    fault: Fault,
    measured: &'a mut Measured,
}

/// A move.
#[derive(Clone, Copy, Debug)]
struct Way {
    shard: u64,
    from: u32,
    to: u32,
}

impl Round<'_> {
    async fn run(&mut self) -> Result<(), CommandError> {
        let way = self.way().await?;
        let Way { shard, from, to } = way;
        let began = Instant::now();
        let job = match self.mover.move_replica(shard, from, to).await {
            Ok(job) => job,
            Err(why) => {
                self.broke(&format!("shard {shard} was not moved: {why}"));
                return Ok(());
            }
        };
        let steps = STEPS[self.number as usize % STEPS.len()];
        let killed = self.victim(way, job, steps).await?;
        let broken = Instant::now();
        if let Some(node) = killed {
            self.rig.cluster.kill_node(node)?;
        }
        let probe = self.rig.probe_since(broken, shard, killed.as_slice());
        let next = probe.first().await?;
        self.measured.next_lease.push(next);
        if let Some(node) = killed {
            self.rig.settle(AWAY).await?;
            self.rig.bring_back(node).await?;
        }
        let ended = self.mover.jobs.ended(job, JOB_WITHIN).await;
        let kill = killed.map_or_else(String::new, |node| {
            format!(
                ", SIGKILL to node {node}, {}, at \"{}\"",
                self.fault, steps[0]
            )
        });
        note_round(
            self.number,
            format_args!(
                "shard {shard} from node {from} to node {to}{kill}; {} after {} ms; next lease after {} ms",
                splitting::end(job, ended.as_ref()),
                began.elapsed().as_millis(),
                next.as_millis()
            ),
        );
        match ended {
            Some(ended) if ended.state() == pb::JobState::Done => self.check(way).await,
            Some(ended) => {
                self.broke(&format!("a move was undone: {}", ended.reason));
                Ok(())
            }
            None => {
                self.broke("a move had no end");
                Ok(())
            }
        }
    }

    /// The busiest shard, off any of its nodes, to the node that has it not.
    async fn way(&mut self) -> Result<Way, CommandError> {
        let shard = self.rig.busiest_shard().await?;
        let places = self.mover.places().await?;
        let on: Vec<u32> = places.get(&shard).into_iter().flatten().copied().collect();
        let off = (1..=NODES).filter(|node| !on.contains(node));
        let off: Vec<u32> = off.collect();
        if on.is_empty() || off.is_empty() {
            let words = format!("shard {shard} is on nodes {on:?}");
            return Err(CommandError::Message(words));
        }
        let from = on[self.rig.choose(on.len())];
        let to = off[self.rig.choose(off.len())];
        Ok(Way { shard, from, to })
    }

    /// The node that is killed when the job has come so far.
    async fn victim(
        &self,
        way: Way,
        job: u64,
        steps: &[&str],
    ) -> Result<Option<u32>, CommandError> {
        if self.fault == Fault::Nothing {
            return Ok(None);
        }
        self.mover.reached(job, steps).await;
        Ok(Some(match self.fault {
            Fault::Driver => self.mover.jobs.leader_of_group_0().await?,
            Fault::Leader => self.rig.control.wait_leader(way.shard).await?,
            Fault::OldNode => way.from,
            Fault::NewNode | Fault::Nothing => way.to,
        }))
    }

    /// The maps show the move, and the old node has destroyed its replica.
    async fn check(&mut self, way: Way) -> Result<(), CommandError> {
        let places = self.mover.places().await?;
        if let Err(why) = check_voters(&places, VOTERS) {
            self.broke(&why);
        }
        let on = places.get(&way.shard);
        if !on.is_some_and(|on| on.contains(&way.to) && !on.contains(&way.from)) {
            self.broke(&format!("shard {} is on nodes {on:?}", way.shard));
        }
        if let Err(why) = tiling::check(&self.mover.jobs.ranges().await?) {
            self.broke(&format!("the map of group 0: {why}"));
        }
        let until = Instant::now() + MAP_WITHIN;
        while self.answers(way.from, way.shard).await {
            if Instant::now() > until {
                let Way { shard, from, .. } = way;
                self.broke(&format!("node {from} still has shard {shard}"));
                break;
            }
            tokio::time::sleep(JOB_LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Whether a node tells of a shard.
    async fn answers(&self, node: u32, shard: u64) -> bool {
        match self.rig.control.nodes().get(&node) {
            None => false,
            Some(client) => {
                let status = client.shard_status(ShardStatusRequest { shard }).await;
                status.is_ok()
            }
        }
    }

    fn broke(&mut self, what: &str) {
        let words = format!("round {}: {what}", self.number);
        self.measured.broken.push(words);
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, STEPS};
    use std::collections::BTreeSet;

    #[test]
    fn each_fault_comes_at_each_step() {
        let pairs =
            (1..=20).map(|round| (Fault::of(round).to_string(), round as usize % STEPS.len()));
        let pairs: BTreeSet<(String, usize)> = pairs.collect();
        assert_eq!(pairs.len(), 20);
    }
}
