//! A node that lost its disk: what its new replicas have become is entered in the map.
//!
//! The node that came back takes its older incarnation's place shard by shard, asking the leaders itself
//! (`cluster::rejoin`). The map follows: once a group's membership shows the change, a move from the node to itself is
//! entered and walked to its end. Nothing is done to the group here.

use shard_map::{
    Body, Job, MovePlan, Replica, ShardMap, Step,
    command::{MoveReplica, StepDone},
};

use super::shaper::{Shaper, Standing, leader_of};

/// The moves of groups that have a voter on a disk that its node lost, and no job.
pub(super) fn outdated(map: &ShardMap) -> Vec<(u64, MoveReplica)> {
    let is_lost = |replica: &&Replica| {
        let node = map.node(replica.node());
        node.is_some_and(|node| replica.replica_id().incarnation() < node.incarnation)
    };
    map.groups()
        .filter(|(group, _)| map.job_of_shard(*group).is_none())
        .filter_map(|(group, members)| {
            let lost = members.voters().find(is_lost)?;
            let moved = MoveReplica {
                shard: group,
                epoch: members.epoch,
                from: lost.node(),
                to: lost.node(),
                ..MoveReplica::default()
            };
            Some((group, moved))
        })
        .collect()
}

/// Begins the move of a group once its leader's membership shows it.
pub(super) async fn begin(
    map: &ShardMap,
    group: u64,
    moved: MoveReplica,
    shaper: &dyn Shaper,
) -> Option<Body> {
    let node = map.node(moved.to)?;
    let new = map
        .members(group)?
        .next_id(node.number, node.incarnation)?
        .0;
    let old = map.members(group)?.voter_on(moved.from)?.0;
    let leader = leader_of(group, shaper).await?;
    has_changed(&leader, new, old).then_some(Body::MoveReplica(moved))
}

/// What the map is told next of such a move; `None`: it is another one, or nothing yet.
pub(super) async fn next(job: &Job, plan: &MovePlan, shaper: &dyn Shaper) -> Option<Body> {
    let done = Body::StepDone(StepDone {
        job: job.id,
        expects: job.step,
        created: Vec::new(),
    });
    match job.step() {
        Step::Planned | Step::LearnerAdded | Step::CaughtUp => {
            let leader = leader_of(plan.shard, shaper).await?;
            has_changed(&leader, plan.new, plan.old).then_some(done)
        }
        // The old replica went with its disk.
        Step::VotersChanged => Some(done),
        _ => None,
    }
}

fn has_changed(leader: &Standing, new: u64, old: u64) -> bool {
    leader.voters.contains(&new) && !leader.voters.contains(&old) && !leader.learners.contains(&old)
}
