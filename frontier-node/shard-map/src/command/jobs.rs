//! How jobs begin.

use crate::{
    limits,
    model::{Job, Plan, ShardMap, Step},
    refusal::Refusal,
};

/// Enters a job at its first step.
pub(super) fn begin(next: &mut ShardMap, request: u64, plan: Plan) -> Result<u64, Refusal> {
    if next.running_jobs().count() >= limits::RUNNING_JOBS {
        return Err(Refusal::Limit {
            what: "the number of running jobs",
            max: limits::RUNNING_JOBS as u64,
        });
    }
    let id = next.next_job;
    next.next_job += 1;
    let mut job = Job {
        id,
        request,
        started_version: next.version,
        plan: Some(plan),
        ..Job::default()
    };
    job.set_step(job.path().first().copied().unwrap_or(Step::Done));
    next.jobs.push(job);
    Ok(id)
}
