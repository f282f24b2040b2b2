//! Status of a group, and requests that are not proposals.

use std::collections::BTreeSet;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::raft::TransferLeaderRequest;
use openraft::{LogIdOptionExt, ServerState};
use tokio::sync::watch;

use super::Group;
use super::slot::Running;
use crate::errors::{ControlError, StopReason};
use crate::ids::{GroupId, Leadership, NodeId};
use crate::raft_types::index_of;
use crate::status::{GroupStatus, LastReceived};

impl Group {
    /// The group's id.
    pub fn group_id(&self) -> GroupId {
        self.slot.group_id
    }

    /// The replica that this node is in the group.
    pub fn replica(&self) -> NodeId {
        self.slot.replica
    }

    /// Follows who leads, as this replica knows it.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.slot.leadership.subscribe()
    }

    /// The group as this replica sees it; answered also without quorum and while it is stopped.
    pub fn status(&self) -> GroupStatus {
        let known = *self.slot.leadership.borrow();
        let mut status = GroupStatus {
            group_id: self.slot.group_id,
            state: self.slot.state.read().clone(),
            is_leader: known.is_leader,
            term: known.term,
            leader: known.leader,
            voters: BTreeSet::new(),
            learners: BTreeSet::new(),
            is_joint: false,
            last_log_index: 0,
            committed_index: 0,
            applied_index: 0,
            flushed_index: 0,
            purged_index: 0,
            log_size_bytes: 0,
        };
        if let Ok(running) = self.slot.running() {
            fill(&mut status, &running);
        }
        status
    }

    /// The last entry that a user proposed, in this replica's log whether committed or not. None if the log holds
    /// none: then the applied state covers them all.
    pub fn last_received(&self) -> Option<LastReceived> {
        self.slot.running().ok()?.log.last_received()
    }

    /// Flushes the state of all groups; the index up to which this group's entries are flushed.
    pub async fn flush(&self) -> Result<u64, ControlError> {
        let running = self.running()?;
        self.shared
            .flusher
            .flush()
            .await
            .map_err(ControlError::Stopped)?;
        let flushed = running.instance.flushed.lock().index();
        Ok(flushed)
    }

    /// Makes this replica a candidate now, as if the leader had asked it to take over: the other voters do not wait
    /// for their patience with that leader to run out. For when the leader's process is known to be dead; Raft decides.
    /// A leader ignores it; a replica without a vote is refused.
    pub async fn trigger_election(&self) -> Result<(), ControlError> {
        let running = self.running()?;
        let me = self.replica();
        if !running.voters().contains(&me) {
            return Err(ControlError::BadTarget(me));
        }
        let vote = running.raft.metrics().borrow_watched().vote;
        let request = TransferLeaderRequest::new(vote, me, None);
        let taken = running.raft.handle_transfer_leader(request).await;
        match taken.map_err(|fatal| self.ended(&fatal.to_string()))? {
            Ok(()) => Ok(()),
            // Nothing was heard from a leader in this run: an ordinary candidate then.
            Err(_) => running
                .raft
                .trigger()
                .elect(true)
                .await
                .map_err(|fatal| self.ended(&fatal.to_string())),
        }
    }

    /// Whether a voter with a longer log has refused this replica its vote, and it has not caught up since: it cannot win
    /// while that voter lives, and the more often it stands, the higher the term that the other one must outbid.
    pub fn knows_longer_log(&self) -> bool {
        let running = self.slot.running();
        running.is_ok_and(|running| {
            let last = running.log.numbers().last;
            running.instance.longer_log.goes_further_than(last)
        })
    }

    /// Asks another voter to take over. Refused unless it has all but the newest entries, since a target that cannot
    /// win leaves the group without a leader for a while.
    pub async fn transfer_leader(&self, to: NodeId) -> Result<(), ControlError> {
        let running = self.running()?;
        {
            let metrics = running.raft.metrics();
            let metrics = metrics.borrow_watched();
            if metrics.state != ServerState::Leader {
                return Err(ControlError::NotLeader);
            }
            let matched = metrics
                .replication
                .as_ref()
                .and_then(|replication| replication.get(&to).cloned())
                .flatten();
            let committed = metrics.local_committed.index();
            let is_voter = metrics
                .membership_config
                .voter_ids()
                .any(|voter| voter == to);
            if !is_voter || matched.index() < committed {
                return Err(ControlError::BadTarget(to));
            }
        }
        running
            .raft
            .trigger()
            .transfer_leader(to)
            .await
            .map_err(|fatal| self.ended(&fatal.to_string()))
    }

    /// Stops the group on this node, whatever waits. It may be opened again with
    /// [`Engine::open_group`](crate::Engine::open_group).
    pub async fn shutdown(&self) {
        self.slot.request_stop();
        self.slot.wait_ended().await;
        self.shared.forget(&self.slot);
    }

    pub(super) fn running(&self) -> Result<Running, ControlError> {
        self.slot.running().map_err(ControlError::Stopped)
    }

    pub(super) fn ended(&self, fatal: &str) -> ControlError {
        let reason = self
            .slot
            .running()
            .err()
            .unwrap_or_else(|| StopReason::Raft(fatal.to_owned()));
        ControlError::Stopped(reason)
    }
}

fn fill(status: &mut GroupStatus, running: &Running) {
    let log = running.log.numbers();
    status.last_log_index = index_of(&log.last);
    status.purged_index = index_of(&log.purged);
    status.log_size_bytes = log.size_bytes;
    status.applied_index = running.instance.applied.lock().index();
    status.flushed_index = running.instance.flushed.lock().index();
    let metrics = running.raft.metrics();
    let metrics = metrics.borrow_watched();
    status.committed_index = index_of(&metrics.local_committed).max(status.applied_index);
    let membership = metrics.membership_config.membership();
    status.voters = membership.voter_ids().collect();
    status.learners = membership.learner_ids().collect();
    status.is_joint = membership.get_joint_config().len() > 1;
}
