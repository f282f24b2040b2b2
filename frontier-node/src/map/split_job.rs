//! One step of a split: what is done, and then said to the map.

use shard_map::{
    Body, Job, ShardMap, SplitPlan, Step,
    command::{CancelJob, StepDone},
};

use super::shaper::{ShapeError, Shaper, SplitOrder};

/// What the map is told next; `None`: nothing yet, look again later.
pub(super) async fn next(
    map: &ShardMap,
    job: &Job,
    plan: &SplitPlan,
    shaper: &dyn Shaper,
) -> Option<Body> {
    match job.step() {
        // Nothing is done before the map says that it may have been done.
        Step::Planned | Step::ChildCreated => Some(done(job, Vec::new())),
        Step::ParentTold => tell_parent(map, job, plan, shaper).await,
        Step::ParentApplied => {
            let standings = shaper.standings(plan.child).await;
            let created: Vec<u64> = standings.iter().map(|s| s.replica).collect();
            let is_voter = |id: &&u64| created.contains(id);
            let is_majority = plan.voters.iter().filter(is_voter).count() * 2 > plan.voters.len();
            is_majority.then(|| done(job, created))
        }
        Step::MapChanged => {
            let standings = shaper.standings(plan.child).await;
            let is_led = standings.iter().any(|s| s.is_proven);
            is_led.then(|| done(job, Vec::new()))
        }
        _ => None,
    }
}

async fn tell_parent(
    map: &ShardMap,
    job: &Job,
    plan: &SplitPlan,
    shaper: &dyn Shaper,
) -> Option<Body> {
    let epoch = map.members(plan.shard)?.epoch;
    let order = SplitOrder {
        shard: plan.shard,
        epoch,
        at: plan.at,
        child: plan.child,
        // Nothing else changes the parent's members while it has this job.
        voters: plan.voters.iter().copied().collect(),
    };
    match shaper.split(&order).await {
        Ok(()) => Some(done(job, Vec::new())),
        Err(ShapeError::Refused(reason)) => Some(Body::CancelJob(CancelJob {
            job: job.id,
            reason,
            group_refused: true,
        })),
        Err(ShapeError::Unavailable(reason)) => {
            tracing::debug!(job = job.id, shard = plan.shard, reason, "not split yet");
            None
        }
    }
}

fn done(job: &Job, created: Vec<u64>) -> Body {
    Body::StepDone(StepDone {
        job: job.id,
        expects: job.step,
        created,
    })
}
