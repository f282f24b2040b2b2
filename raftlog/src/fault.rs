//! Injected disk faults, for tests and drills: a hook before each step that touches the disk.

use std::io;

/// A step of the engine that touches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiskStep {
    /// Entries, votes and log metadata of all waiting groups go into the log, before their fsync.
    LogWrite,
    /// The fsync that makes them durable, before anyone is told.
    LogSync,
    /// Rows of one `apply` go into the state database.
    StateWrite,
    /// The state database is flushed.
    StateFlush,
    /// A staged snapshot replaces a group's rows.
    Ingest,
    /// The databases are opened again after a failure.
    Reopen,
}

/// Called on a storage thread before each step; an error takes the place of the step. It may block, to hold a step
/// back.
pub trait FaultHook: Send + Sync + 'static {
    /// Decides about one step.
    fn before(&self, step: DiskStep) -> io::Result<()>;

    /// Whether a rule is switched off. Only tests of tests do that.
    fn is_off(&self, _rule: Rule) -> bool {
        false
    }
}

/// A rule that closes a schedule in which a promise would break. A test harness switches one off to see that it notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A log is purged only below what a finished flush of the state covers.
    PurgeBelowFlush,
    /// The time of receipt that a new leader counts from is that of the newest entry itself.
    ReceiptOfNewestEntry,
    /// Nobody is told of an append or a vote before its sync.
    SyncBeforeAnswer,
    /// "Known" is answered with proof of leadership.
    KnownNeedsProof,
    /// Fencing tokens go on where they were after a restart.
    TokensGoOn,
    /// Fencing tokens of a shard that was split off go on where its parent's were.
    ChildTokensGoOn,
    /// Hosts that go to another shard keep their last contact.
    ChildKeepsContacts,
    /// A removal deletes what is the group's now, not what was before another group was founded out of it.
    RemovalSparesNeighbours,
    /// The tombstone of a removal is durable before anything is deleted.
    TombstoneFirst,
    /// A replica answers what is meant for it, not what is meant for an earlier one of its process.
    AnswersForItself,
    /// An install replaces what is the group's now, not what was before another group was founded out of it.
    InstallSparesChildren,
}
