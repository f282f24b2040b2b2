//! Applying a command: the next version of the map, or a refusal that leaves it as it is.

use crate::{
    command::{self, Command},
    limits::ENDED_JOBS,
    model::{NodeState, Plan, ShardMap, Step},
    refusal::Refusal,
};

/// The answer to a command that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The map's version now.
    pub version: u64,
    /// False: it was so already.
    pub changed: bool,
    /// The job that the command began, or began when it was first sent, or that it is about.
    pub job: Option<u64>,
}

/// Applies one command. The same on every node.
///
/// Cost follows the size of the map: a refused command must leave no trace, so the next version is made aside.
///
/// # Errors
///
/// The reason why nothing was changed.
pub fn apply(map: &mut ShardMap, command: &Command) -> Result<Accepted, Refusal> {
    let mut next = map.clone();
    next.version += 1;
    let job = command::run(&mut next, command)?;
    settle(&mut next);
    next.version -= 1;
    let changed = next != *map;
    if changed {
        next.version += 1;
        *map = next;
    }
    Ok(Accepted {
        version: map.version,
        changed,
        job,
    })
}

/// What follows from what a command changed: a node without replicas is drained, and old ends are forgotten.
fn settle(next: &mut ShardMap) {
    let version = next.version;
    let emptied: Vec<u64> = next
        .running_jobs()
        .filter(|job| job.evacuates().is_some_and(|node| next.is_empty(node)))
        .map(|job| job.id)
        .collect();
    for id in emptied {
        let Some(job) = next.job_mut(id) else {
            continue;
        };
        job.end(Step::Done, version);
        if let Some(Plan::Replace(replaced)) = job.plan {
            set_gone(next, replaced.node);
        }
    }
    let ended = next.jobs.iter().filter(|job| !job.is_running()).count();
    let mut surplus = ended.saturating_sub(ENDED_JOBS);
    next.jobs.retain(|job| {
        let is_forgotten = surplus > 0 && !job.is_running();
        surplus -= usize::from(is_forgotten);
        !is_forgotten
    });
}

/// A node that takes part no more. Its entry stays, so that its incarnation does not come back.
pub(crate) fn set_gone(next: &mut ShardMap, number: u32) {
    if let Some(node) = next.node_mut(number) {
        node.set_state(NodeState::Gone);
    }
    for members in next.groups_mut() {
        members.pinned.retain(|node| *node != number);
    }
}
