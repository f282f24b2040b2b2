//! M3: a job is at a step of its way, and no group has two jobs.
//!
//! Closes: a second split or move that works on what the first one changes.

use std::collections::BTreeSet;

use super::{Broken, ensure};
use crate::model::{Job, NodeState, Plan, ShardMap, Step};

const NUMBER: &str = "M3";

pub(super) fn check(map: &ShardMap) -> Result<(), Broken> {
    let in_order = map.jobs.windows(2).all(|w| w[0].id < w[1].id);
    let issued = map
        .jobs
        .iter()
        .all(|job| (1..map.next_job).contains(&job.id));
    ensure(in_order && issued, NUMBER, || {
        "jobs are out of order".to_owned()
    })?;
    let mut busy = BTreeSet::new();
    for job in &map.jobs {
        check_job(map, job)?;
        let groups = match &job.plan {
            Some(Plan::Split(split)) => vec![split.shard, split.child],
            Some(Plan::Move(moved)) => vec![moved.shard],
            _ => Vec::new(),
        };
        for group in groups.into_iter().filter(|_| job.is_running()) {
            ensure(busy.insert(group), NUMBER, || {
                format!("group {group} has two jobs")
            })?;
        }
    }
    Ok(())
}

fn check_job(map: &ShardMap, job: &Job) -> Result<(), Broken> {
    let is_move = matches!(job.plan, Some(Plan::Move(_)));
    let is_on_its_way = Step::try_from(job.step).is_ok_and(|step| {
        job.path().contains(&step)
            || (step == Step::Undone && job.plan.is_some())
            || (step == Step::Undoing && is_move)
    });
    ensure(is_on_its_way, NUMBER, || {
        format!("job {} is at a step that is not on its way", job.id)
    })?;
    ensure(job.is_running() == (job.ended_version == 0), NUMBER, || {
        format!("job {} runs and has ended", job.id)
    })?;
    if let Some(node) = job.evacuates().filter(|_| job.is_running()) {
        let state = map.node(node).map(|node| node.state());
        ensure(state == Some(NodeState::Draining), NUMBER, || {
            format!("job {} empties node {node}, which is not draining", job.id)
        })?;
    }
    if let (Some(Plan::Move(moved)), true) = (&job.plan, job.is_running()) {
        ensure(map.members(moved.shard).is_some(), NUMBER, || {
            format!("job {} moves a replica of no group", job.id)
        })?;
    }
    Ok(())
}
