//! One step of a move: what is done, and then said to the map.
//!
//! ```text
//! Planned: the new node makes its replica by the map, then the group feeds it -> LearnerAdded
//! LearnerAdded: it has almost all of the log                                  -> CaughtUp
//! CaughtUp: it votes in the old one's place, which does not lead any more     -> VotersChanged
//! VotersChanged: the old replica's node has destroyed it, or is dead          -> Done
//! ```
//!
//! A move whose new node stays away is taken back: before `CaughtUp` at once, there once the group has committed that the
//! learner is no member, so that a late change of voters is refused. After that it can only go on.

use std::collections::BTreeSet;

use raftlog::NodeId;
use shard_map::{
    Body, Job, MovePlan, NodeState, Plan, ReplicaId, ShardMap, Step,
    command::{CancelJob, StepDone},
};

use super::shaper::{MemberChange, MemberOrder, ShapeError, Shaper, leader_of};
use super::survey::Survey;

/// What a step is taken with.
pub(super) struct Context<'a> {
    pub(super) map: &'a ShardMap,
    pub(super) shaper: &'a dyn Shaper,
    /// Of this leadership; empty until all nodes were asked under it.
    pub(super) survey: &'a Survey,
    /// A node that is silent for so long, or does not make its replica in that time, is not waited for, ms.
    pub(super) patience_ms: u64,
    /// How long the job has been at its step, as far as this driver knows, ms.
    pub(super) waited_ms: u64,
}

/// What the map is told next; `None`: nothing yet, look again later.
pub(super) async fn next(context: &Context<'_>, job: &Job, plan: &MovePlan) -> Option<Body> {
    let step = job.step();
    if matches!(step, Step::Planned | Step::LearnerAdded)
        && let Some(reason) = hopeless(context, step, plan)
    {
        return Some(cancel(job, reason, false));
    }
    let is_done = match step {
        Step::Planned => is_fed(context, plan).await,
        Step::LearnerAdded => match tell(context, plan, MemberChange::CatchUp).await {
            Ok(()) => true,
            Err(ShapeError::Refused(reason)) => return Some(cancel(job, reason, false)),
            Err(ShapeError::Unavailable(_)) => false,
        },
        Step::CaughtUp => return vote(context, job, plan).await,
        Step::VotersChanged => is_destroyed(context, plan).await,
        Step::Undoing => tell(context, plan, MemberChange::Remove).await.is_ok(),
        _ => false,
    };
    is_done.then(|| done(job))
}

/// Why the new replica will not come, as far as can be told.
fn hopeless(context: &Context<'_>, step: Step, plan: &MovePlan) -> Option<String> {
    let new = ReplicaId(plan.new);
    let node = context.map.node(new.node())?;
    let number = node.number;
    if node.state() == NodeState::Gone {
        return Some(format!("node {number} is gone"));
    }
    if node.incarnation > new.incarnation() {
        return Some(format!("node {number} lost the disk of its new replica"));
    }
    let silent_ms = context.survey.silent_ms(number);
    if silent_ms >= context.patience_ms {
        return Some(format!("node {number} is silent for {silent_ms} ms"));
    }
    if step == Step::Planned && context.waited_ms >= context.patience_ms {
        let waited_ms = context.waited_ms;
        return Some(format!(
            "node {number} has made no replica in {waited_ms} ms"
        ));
    }
    None
}

/// The new node has its replica, and the group feeds it.
async fn is_fed(context: &Context<'_>, plan: &MovePlan) -> bool {
    is_made(context, plan).await && tell(context, plan, MemberChange::Add).await.is_ok()
}

async fn is_made(context: &Context<'_>, plan: &MovePlan) -> bool {
    let made = context.shaper.has_replica(plan.shard, plan.new).await;
    if let Err(error) = &made {
        tracing::debug!(group = plan.shard, replica = plan.new, %error, "not there");
    }
    made == Ok(true)
}

/// The voters are changed, or the move is given up.
async fn vote(context: &Context<'_>, job: &Job, plan: &MovePlan) -> Option<Body> {
    if let Some(reason) = hopeless(context, Step::CaughtUp, plan) {
        return give_up(context, job, plan, reason).await;
    }
    let old = (plan.old != 0).then_some(plan.old);
    if let Some(old) = old
        && gives_way(context, plan, old).await
    {
        return None;
    }
    // A voter that does not answer would be one that the group has lost.
    if !is_made(context, plan).await {
        return None;
    }
    match tell(context, plan, MemberChange::Vote { old }).await {
        Ok(()) => Some(done(job)),
        // An earlier driver gave it up and could not say so any more.
        Err(ShapeError::Refused(reason)) => give_up(context, job, plan, reason).await,
        Err(ShapeError::Unavailable(_)) => None,
    }
}

/// The learner leaves the group; if that is committed, the voters were not changed and never will be. If it is a voter
/// already, the change of voters is finished.
async fn give_up(
    context: &Context<'_>,
    job: &Job,
    plan: &MovePlan,
    reason: String,
) -> Option<Body> {
    match tell(context, plan, MemberChange::Remove).await {
        Ok(()) => Some(cancel(job, reason, true)),
        Err(ShapeError::Refused(_)) => {
            let old = (plan.old != 0).then_some(plan.old);
            let voted = tell(context, plan, MemberChange::Vote { old }).await;
            voted.is_ok().then(|| done(job))
        }
        Err(ShapeError::Unavailable(_)) => None,
    }
}

/// The old replica leads and was asked to hand over: look again when another one does.
///
/// Who is left out of the voters while leading stops leading only by that, and the group waits for an election.
async fn gives_way(context: &Context<'_>, plan: &MovePlan, old: NodeId) -> bool {
    let Some(leader) = leader_of(plan.shard, context.shaper).await else {
        return false;
    };
    if leader.replica != old {
        return false;
    }
    let down = context.survey.down();
    let others: BTreeSet<NodeId> = leader
        .voters
        .into_iter()
        .filter(|voter| *voter != old && !down.contains(&ReplicaId(*voter).node()))
        .collect();
    for to in others {
        match context.shaper.hand_over(plan.shard, to).await {
            Ok(()) => return true,
            Err(error) => {
                tracing::debug!(group = plan.shard, to, %error, "does not take over");
            }
        }
    }
    false
}

/// The old replica is no more, or nothing is expected of its node.
async fn is_destroyed(context: &Context<'_>, plan: &MovePlan) -> bool {
    let old = ReplicaId(plan.old);
    let node = context.map.node(old.node());
    let is_lost = |node: &shard_map::Node| {
        node.state() == NodeState::Gone || node.incarnation > old.incarnation()
    };
    if plan.old == 0 || node.is_none_or(is_lost) {
        return true;
    }
    let job = context.map.job_of_node(old.node());
    if job.is_some_and(|job| matches!(job.plan, Some(Plan::Replace(_)))) {
        return true;
    }
    match context.shaper.has_replica(plan.shard, plan.old).await {
        Ok(is_there) => !is_there,
        // It is a tombstone whenever its node comes back.
        Err(_) => context.survey.silent_ms(old.node()) >= context.patience_ms,
    }
}

/// Tells the group's leader.
async fn tell(
    context: &Context<'_>,
    plan: &MovePlan,
    change: MemberChange,
) -> Result<(), ShapeError> {
    let order = MemberOrder {
        group: plan.shard,
        replica: plan.new,
        change,
    };
    let told = context.shaper.change_members(&order).await;
    if let Err(error) = &told {
        tracing::debug!(?order, %error, "the members are not so yet");
    }
    told
}

fn done(job: &Job) -> Body {
    Body::StepDone(StepDone {
        job: job.id,
        expects: job.step,
        created: Vec::new(),
    })
}

fn cancel(job: &Job, reason: String, group_refused: bool) -> Body {
    Body::CancelJob(CancelJob {
        job: job.id,
        reason,
        group_refused,
    })
}
