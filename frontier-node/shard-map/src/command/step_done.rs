//! `step_done`: whoever drives a job says that it is one step on.

use super::split_shard;
use crate::{
    model::{
        GROUP_ZERO, Members, MovePlan, Plan, Replica, ReplicaId, Shard, ShardMap, SplitPlan, Step,
    },
    refusal::Refusal,
};

/// What follows the expected step was done. A driver that comes late, because another one said so, is told and changes
/// nothing.
///
/// | job at | is said when |
/// |---|---|
/// | split `Planned` | the parent is going to be told |
/// | `ParentTold` | the parent applied the split |
/// | `ParentApplied` | the replicas in `created` have made the child, a majority of its voters |
/// | `ChildCreated` | at once: this changes the map |
/// | `MapChanged` | the child has a leader |
/// | move `Planned` | the group has the learner |
/// | `LearnerAdded` | the learner has caught up, and the voters are going to be changed |
/// | `CaughtUp` | the group's voters are changed, not jointly any more |
/// | `VotersChanged` | the old replica is destroyed, or its node is not there |
/// | `Undoing` | the group does not have the learner |
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct StepDone {
    /// The job.
    #[prost(uint64, tag = "1")]
    pub job: u64,
    /// The step at which the driver found it.
    #[prost(enumeration = "Step", tag = "2")]
    pub expects: i32,
    /// Replicas that have made the child; at `ParentApplied` only.
    #[prost(uint64, repeated, tag = "3")]
    pub created: Vec<u64>,
}

impl StepDone {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        let job = next.job(self.job).ok_or(Refusal::UnknownJob(self.job))?;
        let expects = Step::try_from(self.expects);
        let expects =
            expects.map_err(|_| Refusal::Invalid("this version does not know the step"))?;
        let current = job.step();
        if job.is_past(expects) {
            return Ok(Some(self.job));
        }
        if current != expects || current.is_end() || current == Step::Emptying {
            return Err(Refusal::WrongStep {
                job: self.job,
                expected: expects.name(),
                current: current.name(),
            });
        }
        let to = match job.plan.clone() {
            Some(Plan::Split(split)) => self.split_on(next, &split, current)?,
            Some(Plan::Move(moved)) => move_on(next, &moved, current),
            _ => current,
        };
        let version = next.version;
        if let Some(job) = next.job_mut(self.job) {
            if to.is_end() {
                job.end(to, version);
            } else {
                job.set_step(to);
            }
        }
        Ok(Some(self.job))
    }

    fn split_on(
        &self,
        next: &mut ShardMap,
        split: &SplitPlan,
        current: Step,
    ) -> Result<Step, Refusal> {
        Ok(match current {
            Step::Planned => Step::ParentTold,
            Step::ParentTold => Step::ParentApplied,
            Step::ParentApplied => {
                let is_created = |id: &&u64| self.created.contains(id);
                let created = split.voters.iter().filter(is_created).count();
                let needed = split.voters.len() / 2 + 1;
                if created < needed {
                    return Err(Refusal::TooFewCreated { created, needed });
                }
                Step::ChildCreated
            }
            Step::ChildCreated => {
                enter_child(next, split);
                Step::MapChanged
            }
            _ => {
                self.split_again(next, split);
                Step::Done
            }
        })
    }

    /// One site is to stand alone, and the child still begins with it: the job of the second cut begins when this one
    /// ends. If it may not begin now, this job ends all the same, and names no other.
    fn split_again(&self, next: &mut ShardMap, split: &SplitPlan) {
        let at = split
            .then_at
            .filter(|at| next.shard(split.child).is_some_and(|c| c.splits_at(*at)));
        let Some(Ok(begun)) = at.map(|at| split_shard::begin(next, split.child, at, None, 0))
        else {
            return;
        };
        if let Some(Plan::Split(plan)) = next.job_mut(self.job).and_then(|job| job.plan.as_mut()) {
            plan.next_job = begun;
        }
    }
}

/// The parent keeps what is below the cut; the child is a shard.
fn enter_child(next: &mut ShardMap, split: &SplitPlan) {
    let Some(parent) = next.shards.iter_mut().find(|s| s.id == split.shard) else {
        return;
    };
    let epoch = parent.members.epoch + 1;
    let child = Shard {
        id: split.child,
        first: split.at,
        last: parent.last,
        members: Members {
            pinned: parent.members.pinned.clone(),
            ..Members::of(split.voters.iter().map(|id| ReplicaId(*id)), epoch)
        },
    };
    parent.last = split.at - 1;
    parent.members.epoch = epoch;
    next.shards.push(child);
    next.shards.sort_unstable_by_key(|shard| shard.first);
}

fn move_on(next: &mut ShardMap, moved: &MovePlan, current: Step) -> Step {
    match current {
        Step::Planned => Step::LearnerAdded,
        Step::LearnerAdded => Step::CaughtUp,
        Step::CaughtUp => {
            change_voters(next, moved);
            Step::VotersChanged
        }
        Step::Undoing => Step::Undone,
        _ => Step::Done,
    }
}

fn change_voters(next: &mut ShardMap, moved: &MovePlan) {
    debug_assert!(moved.shard == GROUP_ZERO || next.shard(moved.shard).is_some());
    let Some(members) = next.members_mut(moved.shard) else {
        return;
    };
    members.promote(ReplicaId(moved.new));
    members.retire(ReplicaId(moved.old));
    members.epoch += 1;
    if moved.pin {
        let mut nodes: Vec<u32> = members.voters().map(Replica::node).collect();
        nodes.sort_unstable();
        members.pinned = nodes;
    }
}
