//! Watches a group's instance, publishes who leads, and opens the instance again when it has failed.

use std::sync::Arc;
use std::time::Duration;

use openraft::ServerState;
use openraft::async_runtime::watch::WatchReceiver;
use openraft::metrics::RaftServerMetrics;

use super::membership::finish_inherited;
use super::opening::open_instance;
use super::purge::maintain;
use super::slot::{GroupSlot, Running};
use crate::engine::Shared;
use crate::errors::{GroupError, StopReason};
use crate::ids::{Leadership, NodeId};
use crate::raft_types::TypeConfig;
use crate::status::GroupState;

/// Looks after a group until it is shut down or its machine fails.
pub(crate) async fn supervise(slot: Arc<GroupSlot>, shared: Arc<Shared>, first: Running) {
    let mut running = first;
    loop {
        slot.set_running(running.clone());
        let maintenance = tokio::spawn(maintain(running.clone()));
        let reason = watch(&slot, &shared, &running).await;
        maintenance.abort();
        slot.set_down(state_after(&reason));
        let _already_ended = running.raft.shutdown().await;
        shared.flusher.unregister(slot.group_id);
        drop(running);
        slot.set_busy(false);
        if matches!(reason, StopReason::Shutdown | StopReason::Machine(_)) {
            break;
        }
        tracing::warn!(group_id = slot.group_id, %reason, "group stopped, will be opened again");
        let Some(next) = reopen(&slot, &shared).await else {
            break;
        };
        running = next;
    }
    slot.set_busy(false);
    slot.ended.send_replace(true);
}

fn state_after(reason: &StopReason) -> GroupState {
    match reason {
        StopReason::Shutdown | StopReason::Machine(_) => GroupState::Stopped(reason.clone()),
        StopReason::DiskFull(_) | StopReason::Io(_) | StopReason::Raft(_) => {
            GroupState::Recovering(reason.clone())
        }
    }
}

/// Publishes leadership until the instance ends or must end; why.
async fn watch(slot: &GroupSlot, shared: &Shared, running: &Running) -> StopReason {
    let mut health = shared.health.watch();
    let mut server = running.raft.server_metrics();
    let mut progress = running.raft.metrics();
    loop {
        if slot.is_stop_requested() {
            return StopReason::Shutdown;
        }
        let failure = health.borrow_and_update().clone();
        if let Some(reason) = failure {
            return reason;
        }
        let (known, has_won) = leadership(slot.replica, running, &server.borrow_watched());
        let is_new = slot
            .leadership
            .send_if_modified(|published| std::mem::replace(published, known) != known);
        if is_new && known.is_leader {
            tokio::spawn(finish_inherited(running.clone(), known.term));
        }
        tokio::select! {
            () = slot.stop.notified() => {}
            _ = health.changed() => {}
            changed = server.changed() => if changed.is_err() {
                return ended(shared, running);
            },
            changed = progress.changed(), if has_won && !known.is_leader => if changed.is_err() {
                return ended(shared, running);
            },
        }
    }
}

/// What to publish, and whether this replica has won its election. It counts as leader only once it has applied an
/// entry of its own term: before that its rows may be older than what was answered by the leader before it.
fn leadership(
    me: NodeId,
    running: &Running,
    seen: &RaftServerMetrics<TypeConfig>,
) -> (Leadership, bool) {
    let term = seen.vote.leader_id.term;
    let has_won = seen.state == ServerState::Leader && seen.current_leader == Some(me);
    let applied_term = running
        .instance
        .applied
        .lock()
        .log_id
        .map(|applied| applied.leader_id.term);
    let is_leader = has_won && applied_term == Some(term);
    (
        Leadership {
            is_leader,
            term,
            leader: seen.current_leader,
        },
        has_won,
    )
}

/// Why an instance has ended by itself.
fn ended(shared: &Shared, running: &Running) -> StopReason {
    let machine = running.instance.stop.lock().clone();
    machine
        .or_else(|| shared.health.failure())
        .unwrap_or_else(|| {
            StopReason::Raft(
                running
                    .ended()
                    .map_or_else(|| "ended".to_owned(), |fatal| fatal.to_string()),
            )
        })
}

/// Opens an instance again, as often as it takes; none if the group is to stay down.
async fn reopen(slot: &Arc<GroupSlot>, shared: &Arc<Shared>) -> Option<Running> {
    let pause = Duration::from_millis(shared.options.recover_interval_ms);
    loop {
        tokio::select! {
            () = slot.stop.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
        if slot.is_stop_requested() {
            slot.set_down(GroupState::Stopped(StopReason::Shutdown));
            return None;
        }
        if shared.health.failure().is_some() {
            continue;
        }
        // Busy first, health after: the databases are not closed under an instance that is being opened.
        slot.set_busy(true);
        if shared.health.failure().is_none() {
            match open_instance(slot, shared).await {
                Ok(running) => return Some(running),
                Err(GroupError::Machine { error, .. }) => {
                    slot.set_down(GroupState::Stopped(StopReason::Machine(error.0)));
                    return None;
                }
                Err(error) => {
                    tracing::warn!(group_id = slot.group_id, %error, "group could not be opened again")
                }
            }
        }
        slot.set_busy(false);
    }
}
