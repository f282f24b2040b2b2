//! Errors, one enum per operation.

use std::path::PathBuf;

use crate::ids::{GroupId, NodeId};

/// Why an engine did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another engine of this one, has the directory open.
    #[error("{dir} is in use by another process")]
    Locked {
        /// The database directory.
        dir: PathBuf,
    },
    /// Bytes in the middle of the log or in a table are damaged. Nothing was changed on disk. (A torn tail, which a
    /// power cut leaves, is cut off silently: it was never acknowledged.)
    #[error("{dir} is corrupt: {reason}")]
    Corrupt {
        /// The database directory.
        dir: PathBuf,
        /// What was found, with the file where it is known.
        reason: String,
    },
    /// One of the two databases is gone and the other is not: a disk that is not mounted, or half a restore. Opening it
    /// anew would let a replica vote that has forgotten its votes.
    #[error(
        "{database} is gone, though {dir} was in use: put it back, or empty the whole directory, so that it comes back as a new replica"
    )]
    Gone {
        /// The database that is missing.
        database: PathBuf,
        /// The engine's directory.
        dir: PathBuf,
    },
    /// The directory belongs to another node.
    #[error("{dir} belongs to node {found}, not to node {expected}")]
    WrongNode {
        /// The engine's directory.
        dir: PathBuf,
        /// The node it was created for.
        found: NodeId,
        /// The node that tried to open it.
        expected: NodeId,
    },
    /// The directory was written by a version with another layout.
    #[error("{dir} has layout version {found}, this program reads {expected}")]
    WrongVersion {
        /// The engine's directory.
        dir: PathBuf,
        /// Layout version on disk.
        found: u32,
        /// Layout version of this program.
        expected: u32,
    },
    /// An option is out of its bounds.
    #[error("option {name}: {reason}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The disk refused.
    #[error("{dir}: {reason}")]
    Io {
        /// The directory concerned.
        dir: PathBuf,
        /// The system's words.
        reason: String,
    },
}

/// Why a group was not created or opened.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// Neither `create_group` nor `create_replica` was called on this node for this id.
    #[error("group {0} does not exist on this node")]
    Unknown(GroupId),
    /// The group is open already.
    #[error("group {0} is open already")]
    AlreadyOpen(GroupId),
    /// The group exists here with other first members, or was founded here and joined now, or the reverse.
    #[error("group {0} exists here and was created otherwise")]
    Conflict(GroupId),
    /// The replica here was removed for good, and no id up to its own comes back.
    #[error("group {group_id}: replica {replica} was removed here for good")]
    Removed {
        /// The group.
        group_id: GroupId,
        /// The newest id that was removed.
        replica: NodeId,
    },
    /// Another replica is here than the one that is to be removed. Nothing was changed.
    #[error("group {group_id}: the replica here is {found}")]
    OtherReplica {
        /// The group.
        group_id: GroupId,
        /// The replica that is here.
        found: NodeId,
    },
    /// An entry founded a group here that was not made yet: [`Engine::create_child`](crate::Engine::create_child) comes
    /// first. Nothing was changed.
    #[error("group {0} was founded here and not made yet")]
    Unmade(GroupId),
    /// Which rows are the group's is only known while it is open: it must be opened before it is removed.
    #[error("group {0} is not open")]
    NotOpen(GroupId),
    /// The configuration is out of bounds.
    #[error("group {group_id}: {reason}")]
    Invalid {
        /// The group.
        group_id: GroupId,
        /// What is wrong.
        reason: String,
    },
    /// The machine could not be made from the rows.
    #[error("group {group_id}: {error}")]
    Machine {
        /// The group.
        group_id: GroupId,
        /// The factory's error.
        error: crate::MachineError,
    },
    /// The log or the state could not be read or written.
    #[error("group {group_id}: {reason}")]
    Storage {
        /// The group.
        group_id: GroupId,
        /// What failed.
        reason: String,
    },
    /// The engine is closed or stopped by an I/O error.
    #[error("{0}")]
    Stopped(StopReason),
}

/// Why a group or an engine does not work at the moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Shut down on request.
    #[error("shut down")]
    Shutdown,
    /// The machine failed. Stays so until the group is opened again by a program that can apply the entry.
    #[error("{0}")]
    Machine(String),
    /// There is no space left on the device. Recovers by itself when there is.
    #[error("disk full: {0}")]
    DiskFull(String),
    /// The disk failed. Tried again by itself.
    #[error("I/O error: {0}")]
    Io(String),
    /// The Raft instance ended for another reason. Reopened by itself.
    #[error("raft: {0}")]
    Raft(String),
}

/// Why a proposal has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// This replica does not lead, or not under the token the proposal was made with, or it leads but has not heard
    /// from a quorum lately. Nothing was submitted.
    #[error("not the leader (leader: {hint:?})")]
    NotLeader {
        /// The leader, where it is known. None while there is none, or none that has a quorum: try again.
        hint: Option<NodeId>,
    },
    /// The entry was submitted and may or may not become committed: the machine must recognise a repeat.
    #[error("outcome unknown: {0}")]
    OutcomeUnknown(String),
    /// The group does not work. Nothing was submitted.
    #[error("stopped: {0}")]
    Stopped(StopReason),
    /// Too many proposals wait already. Nothing was submitted.
    #[error("too many proposals wait")]
    Overloaded,
    /// The payload is over [`MAX_PAYLOAD_BYTES`](crate::limits::MAX_PAYLOAD_BYTES). Nothing was submitted.
    #[error("payload of {size_bytes} bytes is over the limit")]
    TooLarge {
        /// The payload's size.
        size_bytes: usize,
    },
    /// There is too little space on the device. Nothing was submitted.
    #[error("disk full: {0}")]
    DiskFull(String),
}

/// Why leadership could not be confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// This replica does not lead.
    #[error("not the leader (leader: {hint:?})")]
    NotLeader {
        /// The leader, where it is known.
        hint: Option<NodeId>,
    },
    /// No quorum answered.
    #[error("no quorum answered")]
    NoQuorum,
    /// The group does not work.
    #[error("stopped: {0}")]
    Stopped(StopReason),
    /// Too many reads wait already.
    #[error("too many reads wait")]
    Overloaded,
    /// It took longer than the caller allowed.
    #[error("timed out")]
    TimedOut,
}

/// Why a request to a group (election, transfer, flush, change of members) was not accepted. Where nothing else is said
/// nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The group does not work.
    #[error("stopped: {0}")]
    Stopped(StopReason),
    /// Who should lead is not a voter, or is not caught up.
    #[error("node {0} cannot take over now")]
    BadTarget(NodeId),
    /// This replica does not lead, or no longer under the given token.
    #[error("not the leader")]
    NotLeader,
    /// Voters are being changed to others already. Repeating that change finishes it.
    #[error("the voters are being changed")]
    Joint,
    /// The last change of members, or the leader's first entry, is not committed yet, or another change was made at the
    /// same moment: try again.
    #[error("the members are not settled")]
    Unsettled,
    /// A voter must be a learner first.
    #[error("node {0} is no member")]
    UnknownMember(NodeId),
    /// A voter is not removed by itself: the voters are changed as a whole.
    #[error("node {0} is a voter")]
    IsVoter(NodeId),
    /// A group needs a voter.
    #[error("no voters")]
    NoVoters,
    /// More than [`MAX_MEMBERS`](crate::limits::MAX_MEMBERS), or one of them is 0.
    #[error("between 1 and 64 members, none of them 0")]
    BadMembers,
    /// A voter that is far behind would leave the group unable to commit.
    #[error("node {node_id} has entries up to {matched_index} of {last_log_index}")]
    NotCaughtUp {
        /// The learner.
        node_id: NodeId,
        /// Its newest entry that is known to be the leader's too; 0 for none.
        matched_index: u64,
        /// The leader's newest entry.
        last_log_index: u64,
    },
    /// Leadership was lost on the way: the change may be done, half done or not done. It may be repeated.
    #[error("outcome unknown: {0}")]
    OutcomeUnknown(String),
}

/// Why rows could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The database is being reopened after an I/O error, or closed.
    #[error("the state database is closed")]
    Closed,
    /// The database refused.
    #[error("state database: {0}")]
    Db(String),
}

/// Why a message did not reach another replica, or had no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No connection: tried again with back-off.
    #[error("unreachable: {0}")]
    Unreachable(String),
    /// No answer in time.
    #[error("timed out")]
    TimedOut,
    /// The other side has no such group, or not yet.
    #[error("group {0} is not open there")]
    NoGroup(GroupId),
    /// The other side has another replica of the group than the one that was meant.
    #[error("group {group_id} has another replica there than {replica}")]
    NoReplica {
        /// The group.
        group_id: GroupId,
        /// The replica that was meant.
        replica: NodeId,
    },
    /// The message was not understood, or broke off.
    #[error("malformed message: {0}")]
    Malformed(String),
    /// The other side refused or stopped.
    #[error("remote: {0}")]
    Remote(String),
}
