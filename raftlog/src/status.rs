//! What a group says about itself, without proof of anything: for status pages and metrics.

use std::collections::BTreeSet;
use std::time::Instant;

use bytes::Bytes;

use crate::errors::StopReason;
use crate::ids::{GroupId, NodeId};

/// Whether a group works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupState {
    /// It works, as leader or follower.
    Running,
    /// It is being opened again after a failure; proposals are refused with the reason.
    Recovering(StopReason),
    /// It stays stopped.
    Stopped(StopReason),
}

/// A group as this replica sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// The group.
    pub group_id: GroupId,
    /// Whether it works.
    pub state: GroupState,
    /// This replica leads, as far as it knows.
    pub is_leader: bool,
    /// Newest term seen.
    pub term: u64,
    /// The leader of that term, where it is known.
    pub leader: Option<NodeId>,
    /// Voting replicas of the newest membership in the log; those of both sets while it is joint.
    pub voters: BTreeSet<NodeId>,
    /// Replicas of that membership that are fed without a vote.
    pub learners: BTreeSet<NodeId>,
    /// The voters are being changed: a majority of the old and one of the new are needed.
    pub is_joint: bool,
    /// Index of the newest entry in this replica's log; 0 if there is none.
    pub last_log_index: u64,
    /// Index up to which entries are committed, as far as this replica knows.
    pub committed_index: u64,
    /// Index up to which entries are applied.
    pub applied_index: u64,
    /// Index up to which applied entries survive a power cut without the log.
    pub flushed_index: u64,
    /// Index up to which the log is purged; 0 if nothing is.
    pub purged_index: u64,
    /// Bytes that the log holds, as stored. After a restart an estimate until the first purge.
    pub log_size_bytes: u64,
}

/// How far a replica is, as its leader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Index of the newest entry that is known to be the same there, and durable; 0 for none.
    pub matched_index: u64,
    /// It has a vote.
    pub is_voter: bool,
    /// Time since it last answered this leader, in milliseconds; 0 for the leader itself, none if it never did.
    pub silent_ms: Option<u64>,
}

/// A proof of leadership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmed {
    /// The term in which this replica led at some moment after the call.
    pub term: u64,
    /// Index up to which entries are applied here; everything that was committed before the call is below.
    pub applied_index: u64,
}

/// The last user entry of this replica's log, for the time rule: a new leader's clock starts from its stamp.
#[derive(Debug, Clone)]
pub struct LastReceived {
    /// The entry's index.
    pub index: u64,
    /// The entry's payload.
    pub payload: Bytes,
    /// When this process received exactly this entry, taken when it reached the log. `None`: it was there before this
    /// process started, so nothing is known about the time that has passed since.
    pub received: Option<Instant>,
}
