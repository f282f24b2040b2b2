//! Changes of a group's members, made by its leader, and how far each member is.
//!
//! A replica joins as a learner, which is fed but has no vote. Voters are replaced as a whole, by joint consensus:
//! while it lasts a majority of the old voters and one of the new are needed.

use std::collections::{BTreeMap, BTreeSet};

use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::{ChangeMembershipError, ClientWriteError, PreconditionFailed, RaftError};
use openraft::metrics::RaftMetrics;
use openraft::raft::Precondition;
use openraft::{ChangeMembers, EmptyNode, Instant, LogIdOptionExt, ServerState};

use super::Group;
use super::slot::Running;
use crate::errors::ControlError;
use crate::ids::{LeadershipToken, NodeId};
use crate::limits::{MAX_MEMBERS, MAX_PROMOTION_LAG_ENTRIES};
use crate::raft_types::{LogId, TypeConfig, committed_leader, index_of};
use crate::status::Progress;

type Change = ChangeMembers<u64, EmptyNode>;
type ChangeError = RaftError<TypeConfig, ClientWriteError<TypeConfig>>;

/// Members as they are before a change.
struct Members {
    /// The newest membership's place in the log.
    log_id: Option<LogId>,
    /// One set, or two while it is joint.
    voters: Vec<BTreeSet<NodeId>>,
    all: BTreeSet<NodeId>,
}

impl Members {
    fn is_joint(&self) -> bool {
        self.voters.len() > 1
    }

    fn is_voter(&self, node_id: NodeId) -> bool {
        self.voters.iter().any(|set| set.contains(&node_id))
    }
}

impl Group {
    /// Adds a replica that is fed without a vote; returns when that is committed, before anything was sent to it. A
    /// node that is a member already stays what it is.
    ///
    /// # Errors
    ///
    /// Not the leader under `fence`, voters are being changed, the last change is not committed yet, too many members.
    pub async fn add_learner(
        &self,
        fence: LeadershipToken,
        node_id: NodeId,
    ) -> Result<(), ControlError> {
        let (running, members) = self.members(fence)?;
        if members.all.contains(&node_id) {
            return Ok(());
        }
        if node_id == 0 || members.all.len() >= MAX_MEMBERS {
            return Err(ControlError::BadMembers);
        }
        if members.is_joint() {
            return Err(ControlError::Joint);
        }
        let change = Change::AddNodes(BTreeMap::from([(node_id, EmptyNode::default())]));
        self.change(running, fence, &members, change, true).await
    }

    /// Removes a learner; returns when that is committed. A node that is no member is not removed.
    ///
    /// # Errors
    ///
    /// As [`Group::add_learner`]; or the node is a voter.
    pub async fn remove_learner(
        &self,
        fence: LeadershipToken,
        node_id: NodeId,
    ) -> Result<(), ControlError> {
        let (running, members) = self.members(fence)?;
        if members.is_voter(node_id) {
            return Err(ControlError::IsVoter(node_id));
        }
        if !members.all.contains(&node_id) {
            return Ok(());
        }
        if members.is_joint() {
            return Err(ControlError::Joint);
        }
        let change = Change::RemoveNodes(BTreeSet::from([node_id]));
        self.change(running, fence, &members, change, true).await
    }

    /// Replaces the voters; returns when that is committed. New ones must be learners that are caught up. Those that
    /// are no voters any more leave the group; other learners stay. The change goes on when the call is dropped, and a
    /// new leader finishes what an old one began.
    ///
    /// # Errors
    ///
    /// Not the leader under `fence`, no voters, too many, a new one is no learner or lacks too many entries, voters are
    /// being changed to others already, the last change is not committed yet. When leadership is lost on the way the
    /// outcome is unknown, and it may be repeated: to replace the voters by those they are changes nothing.
    pub async fn change_voters(
        &self,
        fence: LeadershipToken,
        voters: BTreeSet<NodeId>,
    ) -> Result<(), ControlError> {
        if voters.is_empty() {
            return Err(ControlError::NoVoters);
        }
        if voters.len() > MAX_MEMBERS || voters.contains(&0) {
            return Err(ControlError::BadMembers);
        }
        let (running, members) = self.members(fence)?;
        if members.is_joint() {
            if members.voters.last() != Some(&voters) {
                return Err(ControlError::Joint);
            }
            return self.change(running, fence, &members, finish(), false).await;
        }
        if members.is_settled_on(&voters) {
            return Ok(());
        }
        if let Some(unknown) = voters.difference(&members.all).next() {
            return Err(ControlError::UnknownMember(*unknown));
        }
        let new = voters.iter().filter(|node_id| !members.is_voter(**node_id));
        check_caught_up(&running, new)?;
        let change = Change::ReplaceAllVoters(voters);
        self.change(running, fence, &members, change, false).await
    }

    /// How far each member is, while this replica leads; empty otherwise. Not proven.
    pub fn progress(&self) -> BTreeMap<NodeId, Progress> {
        self.running()
            .map(|running| progress(&running, self.replica()))
            .unwrap_or_default()
    }

    /// Where the newest membership is in the log.
    fn membership_log_id(&self) -> Option<LogId> {
        let running = self.running().ok()?;
        let metrics = running.raft.metrics();
        let metrics = metrics.borrow_watched();
        *metrics.membership_config.log_id()
    }

    /// The members under the leadership of `fence`.
    fn members(&self, fence: LeadershipToken) -> Result<(Running, Members), ControlError> {
        let running = self.running()?;
        let members = {
            let metrics = running.raft.metrics();
            let metrics = metrics.borrow_watched();
            if metrics.state != ServerState::Leader || metrics.current_term != fence.term {
                return Err(ControlError::NotLeader);
            }
            members(&metrics)
        };
        Ok((running, members))
    }

    /// Makes one change, in a task of its own so that it is not left half done when the caller gives up.
    async fn change(
        &self,
        running: Running,
        fence: LeadershipToken,
        before: &Members,
        change: Change,
        retain: bool,
    ) -> Result<(), ControlError> {
        let log_id = before.log_id;
        let changing = tokio::spawn(async move {
            change_members(&running, fence.term, log_id, change, retain).await
        });
        match changing.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RaftError::Fatal(fatal))) => Err(self.ended(&fatal.to_string())),
            Ok(Err(RaftError::APIError(error))) => Err(match refused(error, log_id) {
                // The first of two steps may have been made.
                ControlError::NotLeader if self.membership_log_id() != log_id => {
                    ControlError::OutcomeUnknown("leadership was lost".to_owned())
                }
                reason => reason,
            }),
            Err(error) => Err(ControlError::OutcomeUnknown(error.to_string())),
        }
    }
}

impl Members {
    fn is_settled_on(&self, voters: &BTreeSet<NodeId>) -> bool {
        self.voters.as_slice() == std::slice::from_ref(voters)
    }
}

fn members(metrics: &RaftMetrics<TypeConfig>) -> Members {
    let membership = metrics.membership_config.membership();
    Members {
        log_id: *metrics.membership_config.log_id(),
        voters: membership.get_joint_config().clone(),
        all: membership.nodes().map(|(node_id, _)| *node_id).collect(),
    }
}

/// What finishes a change under way: no voter more.
fn finish() -> Change {
    Change::AddVoterIds(BTreeSet::new())
}

/// Proposes a change under one leadership, unless the members have changed meanwhile.
async fn change_members(
    running: &Running,
    term: u64,
    before: Option<LogId>,
    change: Change,
    retain: bool,
) -> Result<(), ChangeError> {
    let conditions = [
        Precondition::CommittedLeaderId {
            committed_leader_id: committed_leader(term),
        },
        Precondition::LastMembershipLogId {
            last_membership_log_id: before,
        },
    ];
    let changed = running
        .raft
        .change_membership_if(change, retain, conditions);
    changed.await.map(|_| ())
}

/// Finishes a change of voters that a leader before this one left half done.
pub(super) async fn finish_inherited(running: Running, term: u64) {
    let members = {
        let metrics = running.raft.metrics();
        let metrics = metrics.borrow_watched();
        members(&metrics)
    };
    let is_inherited = members
        .log_id
        .is_some_and(|log_id| log_id.leader_id.term < term);
    if !members.is_joint() || !is_inherited {
        return;
    }
    let group_id = running.instance.group_id;
    if let Err(error) = change_members(&running, term, members.log_id, finish(), false).await {
        tracing::warn!(group_id, %error, "a change of voters was not finished");
    }
}

fn refused(error: ClientWriteError<TypeConfig>, before: Option<LogId>) -> ControlError {
    match error {
        ClientWriteError::ForwardToLeader(_) => ControlError::NotLeader,
        ClientWriteError::LogEntryDiscarded(_) => ControlError::OutcomeUnknown(error.to_string()),
        ClientWriteError::PreconditionFailed(failed) => match failed {
            PreconditionFailed::LastMembershipLogIdMismatch { expected, .. }
                if expected == before =>
            {
                ControlError::Unsettled
            }
            PreconditionFailed::CommittedLeaderIdMismatch { .. } => ControlError::NotLeader,
            other => ControlError::OutcomeUnknown(other.to_string()),
        },
        ClientWriteError::ChangeMembershipError(error) => match error {
            ChangeMembershipError::LearnerNotFound(unknown) => {
                ControlError::UnknownMember(unknown.node_id)
            }
            ChangeMembershipError::EmptyMembership(_) => ControlError::NoVoters,
            ChangeMembershipError::InProgress(_)
            | ChangeMembershipError::UncommittedLeaderLog(_) => ControlError::Unsettled,
            ChangeMembershipError::UnsupportedMembershipTransition(_)
            | ChangeMembershipError::NodeMetadataChanged(_) => ControlError::Joint,
        },
    }
}

fn check_caught_up<'a>(
    running: &Running,
    new: impl Iterator<Item = &'a NodeId>,
) -> Result<(), ControlError> {
    let metrics = running.raft.metrics();
    let metrics = metrics.borrow_watched();
    let last_log_index = metrics.last_log_index.unwrap_or(0);
    for node_id in new {
        let matched_index = matched(&metrics, *node_id);
        if matched_index.saturating_add(MAX_PROMOTION_LAG_ENTRIES) < last_log_index
            || matched_index == 0
        {
            return Err(ControlError::NotCaughtUp {
                node_id: *node_id,
                matched_index,
                last_log_index,
            });
        }
    }
    Ok(())
}

/// A member's newest entry that is known to be the leader's too, 0 for none.
fn matched(metrics: &RaftMetrics<TypeConfig>, node_id: NodeId) -> u64 {
    let replication = metrics.replication.as_ref();
    let matched = replication.and_then(|replication| replication.get(&node_id).copied());
    matched.flatten().index().unwrap_or(0)
}

/// How far each member is; empty unless this replica leads.
pub(super) fn progress(running: &Running, me: NodeId) -> BTreeMap<NodeId, Progress> {
    let own = index_of(&running.log.numbers().last);
    let metrics = running.raft.metrics();
    let metrics = metrics.borrow_watched();
    let Some(heartbeats) = metrics.heartbeat.as_ref() else {
        return BTreeMap::new();
    };
    let membership = metrics.membership_config.membership();
    let voters: BTreeSet<_> = membership.voter_ids().collect();
    let of = |node_id: NodeId| {
        let is_me = node_id == me;
        let answered = heartbeats.get(&node_id).copied().flatten();
        let silent_ms =
            answered.map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
        Progress {
            matched_index: if is_me {
                own
            } else {
                matched(&metrics, node_id)
            },
            is_voter: voters.contains(&node_id),
            silent_ms: if is_me { Some(0) } else { silent_ms },
        }
    };
    let nodes = membership.nodes().map(|(node_id, _)| *node_id);
    nodes.map(|node_id| (node_id, of(node_id))).collect()
}
