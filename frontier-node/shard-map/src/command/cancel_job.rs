//! `cancel_job`: a job is taken back, while that is safe.

use super::{checks, drain};
use crate::{
    model::{Plan, ReplicaId, ShardMap, Step},
    refusal::Refusal,
};

/// Takes a job back, if nothing of it can remain. Sent again it changes nothing.
///
/// | job | is taken back |
/// |---|---|
/// | drain, replace | at any time |
/// | split | before the parent was told; then only with `group_refused`, and never after the parent applied it |
/// | move | before the voters may have been changed; then only with `group_refused`, and never after they were |
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CancelJob {
    /// The job.
    #[prost(uint64, tag = "1")]
    pub job: u64,
    /// Why; for people.
    #[prost(string, tag = "2")]
    pub reason: String,
    /// The group itself has decided, by its log, that it will not happen. Split at `ParentTold`: the parent refused in
    /// a way that no later state of it takes back. Move at `CaughtUp`: the removal of the learner is committed, so that
    /// a late change of voters is refused; had the voters been changed before, that removal would have been.
    #[prost(bool, tag = "3")]
    pub group_refused: bool,
}

impl CancelJob {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        let job = next.job(self.job).ok_or(Refusal::UnknownJob(self.job))?;
        let step = job.step();
        match step {
            Step::Undoing | Step::Undone => return Ok(Some(self.job)),
            Step::Done => {
                return Err(Refusal::JobEnded {
                    job: self.job,
                    end: step.name(),
                });
            }
            _ => {}
        }
        let is_decided_by_group = matches!(step, Step::ParentTold | Step::CaughtUp);
        let is_refused = self.group_refused && is_decided_by_group;
        if !job.can_be_cancelled() && !is_refused {
            return Err(Refusal::PastReturn {
                job: self.job,
                step: step.name(),
            });
        }
        match job.plan.clone() {
            Some(Plan::Drain(e) | Plan::Replace(e)) => {
                drain::call_off(next, e.node, &self.reason);
            }
            Some(Plan::Move(moved)) => {
                if let Some(members) = next.members_mut(moved.shard) {
                    members.retire(ReplicaId(moved.new));
                    members.epoch += 1;
                }
                self.set(next, Step::Undoing);
            }
            _ => self.set(next, Step::Undone),
        }
        Ok(Some(self.job))
    }

    fn set(&self, next: &mut ShardMap, step: Step) {
        let version = next.version;
        let Some(job) = next.job_mut(self.job) else {
            return;
        };
        job.reason = checks::cut(&self.reason);
        if step.is_end() {
            job.end(step, version);
        } else {
            job.set_step(step);
        }
    }
}
