//! The state machine that users give to a group.
//!
//! Order of one step: `apply` computes changes against the rows as they are, the changes go into the state database
//! in one batch with the applied index, `committed` publishes what is in memory, the proposers are answered. A crash
//! between any two of these loses nothing: the entries are applied again from the log, from the applied index that
//! the same batch wrote.

use bytes::Bytes;

use crate::ids::GroupId;
use crate::rows::{KeyRange, RowBatch};

/// One committed entry that a user proposed. Entries of the log itself (a new leader's first entry, membership) are
/// not shown.
#[derive(Debug, Clone, Copy)]
pub struct Committed<'a> {
    /// Place in the group's log. Grows from call to call, with gaps.
    pub index: u64,
    /// Term of the leader that proposed it.
    pub term: u64,
    /// What was proposed.
    pub payload: &'a Bytes,
}

/// What a machine made of some entries.
#[derive(Debug, Default)]
pub struct Applied {
    /// The changes of rows.
    pub rows: RowBatch,
    /// The answer to each entry, in order. A rejection is an answer too. Fewer or more than there were entries stops
    /// the group.
    pub replies: Vec<Bytes>,
    /// Groups that these entries founded out of the group's own rows, in order. Most have none.
    pub founded: Vec<Founded>,
}

/// A group that an entry founds: from that entry on some rows are the new group's. Its first members are the members of
/// the founding group at that entry, so each replica that applies it is one of them and knows all others.
///
/// Where the replica is not among these members (it was removed and applies what it still got) the rows go, in the batch
/// that carries the entry: nobody would feed them or take them away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founded {
    /// The new group. Never used before.
    pub group_id: GroupId,
    /// The entry that founds it.
    pub index: u64,
    /// All rows of the new group: no row of the founding group from that entry on.
    pub ranges: Vec<KeyRange>,
}

/// A failure that is not an answer: the entry cannot be applied by this version, or the rows make no sense. It stops
/// the group on this replica, since going on would let replicas diverge; other groups and the process go on.
#[derive(Debug, Clone, thiserror::Error)]
#[error("state machine: {0}")]
pub struct MachineError(pub String);

impl MachineError {
    /// A failure described by `reason`.
    pub fn new(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// One group's state machine. Synchronous and deterministic: the same entries give the same rows and replies on each
/// replica. Called from storage threads, one call at a time, never from an async worker; it may read rows through
/// [`StateDb`](crate::StateDb).
pub trait StateMachine: Send + 'static {
    /// Computes the changes for `entries`, in order and never empty. Rows read during the call are those of all
    /// earlier calls; a later entry's view of an earlier one in the same call is the machine's own business.
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError>;

    /// The changes of the last `apply` are in the state database. Called once after each `apply`, before its
    /// proposers are answered.
    fn committed(&mut self);

    /// All rows of the group were replaced by a snapshot: rebuild what is in memory. Not called for the first snapshot
    /// of a replica that joined: its machine is made of it.
    fn restored(&mut self) -> Result<(), MachineError>;

    /// The ranges of rows that belong to this group now: what a snapshot carries, and what an installed one replaces.
    /// Disjoint, and disjoint from those of every other group of the node. They may change with an `apply`, at the latest
    /// in its `committed`, and only to what is a part of them: what is left is a founded group's.
    fn ranges(&self) -> Vec<KeyRange>;
}

/// Makes a group's machine from the rows as they are. Called on a storage thread when the group is opened, and again
/// whenever it is reopened after a disk failure.
///
/// Called only once there are rows to make it of. A replica that joined a group
/// ([`Engine::create_replica`](crate::Engine::create_replica)) has none until its first snapshot is installed: it is
/// opened and fed without a machine, and the factory is called right after that installation, where `restored` would
/// be called otherwise. If it fails then, the group stops on this node.
pub type MachineFactory =
    Box<dyn Fn() -> Result<Box<dyn StateMachine>, MachineError> + Send + Sync>;
