//! Drives the map's moves as group 0's driver does: one step outside of it, again and again until it is seen to be done, then said
//! to the map. A driver may die between the two, and the next one takes the step again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use frontier_node::FrontierNode;
use futures::future::BoxFuture;
use raftlog::{Group, LeadershipToken, NodeId};
use shard_map::command::{CancelJob, Drain, MoveReplica, Undrain};
use shard_map::{
    Body, GROUP_ZERO, MovePlan, NodeState, Plan, ReplicaId, ShardMap, Step, placement,
};

use super::net::WORLD;
use super::world::World;

/// Longest wait for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(6);
/// How often a wish is repeated.
const TRIES: u64 = 60;
/// Moves at once.
const AT_ONCE: usize = 2;
/// How far a learner may be behind, entries: `raftlog` refuses more.
const LAG_ENTRIES: u64 = 100;

/// What somebody wants of the map.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wish {
    /// A replica goes to another node; the numbers decide which and where.
    Move(u64, u64),
    /// A node is emptied.
    Drain(u64),
    /// Nodes that were emptied may be given replicas again.
    Undrain,
}

/// Asks for it until the map takes it: while a shard is being split or moved, it refuses.
pub(super) async fn ask(world: Arc<World>, wish: Wish) {
    for _ in 0..TRIES {
        if world.is_healed() || is_taken(&world, wish) {
            return;
        }
        world.sleep((200, 1_000)).await;
    }
}

fn is_taken(world: &World, wish: Wish) -> bool {
    let map = world.zero.map();
    match wish {
        Wish::Move(which, whither) => give_away(world, &map, which, whither),
        // Otherwise it has nowhere to go.
        Wish::Drain(_) if map.usable_nodes().count() <= 3 => false,
        Wish::Drain(node) => {
            let node = node as u32;
            world.zero.propose(Body::Drain(Drain { node })).is_some()
        }
        Wish::Undrain => {
            let nodes = map.nodes.iter();
            for node in nodes.filter(|node| node.state() == NodeState::Draining) {
                let node = node.number;
                world.zero.propose(Body::Undrain(Undrain { node }));
            }
            true
        }
    }
}

/// A replica of some shard that is not busy goes to a node that has none of it.
fn give_away(world: &World, map: &ShardMap, which: u64, whither: u64) -> bool {
    let shard = &map.shards[which as usize % map.shards.len()];
    let usable = map.usable_nodes().map(|node| node.number);
    let free: Vec<u32> = usable.filter(|to| !shard.members.is_on(*to)).collect();
    let voters: Vec<u32> = shard.members.voters().map(|voter| voter.node()).collect();
    let to = free.get(whither as usize % free.len().max(1));
    let Some(to) = to.filter(|_| !world.splits.is_busy(shard.id)) else {
        return false;
    };
    let wanted = MoveReplica {
        shard: shard.id,
        epoch: shard.members.epoch,
        from: voters[(whither >> 8) as usize % voters.len()],
        to: *to,
        ..MoveReplica::default()
    };
    world.zero.propose(Body::MoveReplica(wanted)).is_some()
}

/// Drives all jobs but splits for the whole run.
pub(super) async fn drive(world: Arc<World>) {
    let mut driven = BTreeSet::new();
    loop {
        propose(&world);
        let map = world.zero.map();
        for job in map.running_jobs() {
            if matches!(job.plan, Some(Plan::Move(_))) && driven.insert(job.id) {
                tokio::spawn(carry_out(Arc::clone(&world), job.id));
            }
        }
        world.sleep((50, 400)).await;
    }
}

/// Begins what the planners propose, a few at once.
fn propose(world: &World) {
    let map = world.zero.map();
    let is_move = |plan: &Option<Plan>| matches!(plan, Some(Plan::Move(_)));
    let under_way = map.running_jobs().filter(|job| is_move(&job.plan)).count();
    let wanted = wanted(&map).into_iter();
    let wanted = wanted.filter(|wanted| !world.splits.is_busy(wanted.shard));
    for wanted in wanted.take(AT_ONCE.saturating_sub(under_way)) {
        world.zero.propose(Body::MoveReplica(wanted));
    }
}

/// What the planners propose: the way out of nodes that are emptied, missing voters, the share of nodes that joined.
fn wanted(map: &ShardMap) -> Vec<MoveReplica> {
    let (nothing, nobody) = (BTreeMap::new(), BTreeSet::new());
    let mut wanted = Vec::new();
    for node in map.nodes.iter().map(|node| node.number) {
        wanted.extend(placement::evacuation(map, node, &nothing, &nobody, AT_ONCE).moves);
    }
    wanted.extend(placement::repairs(map, &nobody));
    wanted.extend(placement::shares(map, &nobody));
    wanted
}

/// No job goes on, and none will begin unasked.
pub(super) fn are_settled(world: &World) -> bool {
    let map = world.zero.map();
    !world.plan.has_moves() || (map.running_jobs().next().is_none() && wanted(&map).is_empty())
}

/// One move from its planning to its end, or back.
async fn carry_out(world: Arc<World>, job: u64) {
    while let Some(running) = world.zero.running(job) {
        let (step, Some(Plan::Move(plan))) = (running.step(), &running.plan) else {
            return;
        };
        // The cluster's own group does not run here: it moves by the map alone.
        let is_done = plan.shard == GROUP_ZERO || take(&world, step, plan).await;
        let is_early = matches!(step, Step::Planned | Step::LearnerAdded);
        if is_early && world.mishap(20) {
            world.zero.propose(Body::CancelJob(CancelJob {
                job,
                reason: "somebody changed their mind".to_owned(),
                group_refused: false,
            }));
        } else if is_done && world.mishap(150) {
            world
                .trace
                .event(format!("a driver of {job} dies at {step:?}"));
        } else if is_done {
            world.zero.step_done(job, step, Vec::new());
        }
        world.sleep((20, 300)).await;
    }
    world.trace.event(format!("job {job} is over"));
}

/// Takes a step; whether it is seen to be done.
async fn take(world: &World, step: Step, plan: &MovePlan) -> bool {
    let MovePlan {
        shard, old, new, ..
    } = *plan;
    match step {
        Step::Planned => {
            let is_there = has_replica(world, shard, new).await;
            is_there == Some(true) && on_leader(world, shard, move |led| led.add(new)).await
        }
        Step::LearnerAdded => on_leader(world, shard, move |led| led.has_caught_up(new)).await,
        Step::CaughtUp => {
            has_replica(world, shard, new).await == Some(true)
                && on_leader(world, shard, move |led| led.vote(old, new)).await
        }
        Step::VotersChanged => old == 0 || has_replica(world, shard, old).await == Some(false),
        Step::Undoing => on_leader(world, shard, move |led| led.remove(new)).await,
        _ => false,
    }
}

/// Whether a replica is at its node; none if that does not answer.
async fn has_replica(world: &World, shard: u64, replica: NodeId) -> Option<bool> {
    let node = u64::from(ReplicaId(replica).node());
    let serve = move |there: Arc<FrontierNode>| -> BoxFuture<'static, bool> {
        let group = there.engine().group(shard);
        Box::pin(async move { group.is_some_and(|group| group.replica() == replica) })
    };
    let answer = world.net.call((WORLD, node), true, ANSWER_WITHIN, serve);
    answer.await.ok()
}

/// A shard's leader, as it is found.
struct Led {
    group: Group,
    token: LeadershipToken,
}

type Told = BoxFuture<'static, bool>;

impl Led {
    fn add(self, replica: NodeId) -> Told {
        Box::pin(async move { self.group.add_learner(self.token, replica).await.is_ok() })
    }

    fn remove(self, replica: NodeId) -> Told {
        Box::pin(async move { self.group.remove_learner(self.token, replica).await.is_ok() })
    }

    fn has_caught_up(self, replica: NodeId) -> Told {
        let progress = self.group.progress();
        let matched = progress
            .get(&replica)
            .map(|progress| progress.matched_index);
        let applied = self.group.status().applied_index;
        let is_near = matched.is_some_and(|index| index > 0 && index + LAG_ENTRIES > applied);
        Box::pin(async move { is_near })
    }

    /// The new replica votes in the old one's place; an old one that leads hands over first.
    fn vote(self, old: NodeId, new: NodeId) -> Told {
        Box::pin(async move {
            let mut voters = self.group.status().voters;
            if self.group.replica() == old {
                let other = voters.iter().find(|voter| **voter != old);
                if let Some(other) = other {
                    let _later = self.group.transfer_leader(*other).await;
                }
                return false;
            }
            voters.remove(&old);
            voters.insert(new);
            self.group.change_voters(self.token, voters).await.is_ok()
        })
    }
}

/// Asks the nodes of a shard until one of them leads and does it; whether that was done.
async fn on_leader(
    world: &World,
    shard: u64,
    order: impl Fn(Led) -> Told + Send + Sync + Copy + 'static,
) -> bool {
    let map = world.zero.map();
    let Some(members) = map.members(shard) else {
        return false;
    };
    let nodes: BTreeSet<u64> = members.voters().map(|v| u64::from(v.node())).collect();
    for node in nodes {
        let serve = move |there: Arc<FrontierNode>| -> BoxFuture<'static, Option<bool>> {
            let group = there.engine().group(shard);
            Box::pin(async move {
                let group = group?;
                let token = group.leadership().borrow().token()?;
                Some(order(Led { group, token }).await)
            })
        };
        let answer = world.net.call((WORLD, node), true, ANSWER_WITHIN, serve);
        if let Ok(Some(is_done)) = answer.await {
            return is_done;
        }
    }
    false
}
