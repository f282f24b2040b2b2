//! Bugs that can be put back, to see that the simulator notices.

use raftlog::{DiskStep, FaultHook, Rule};

/// A bug that the rules of docs/PROTOCOL.md close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// A new leader counts its time from the receipt of an older entry than the one whose stamp it takes.
    StaleTimeBase,
    /// A fetcher counts its lease from when the answer came, not from before it asked.
    DeadlineFromReceipt,
    /// Fencing tokens begin anew when a replica restarts.
    TokenRestart,
    /// A log is purged past what the state has flushed.
    PurgePastFlush,
    /// A deposed leader answers "known".
    KnownByDeposedLeader,
    /// Appends and votes are answered before their sync.
    AnswerBeforeSync,
    /// A child of a split counts its fencing tokens anew.
    ChildTokensRestart,
    /// A child's hosts forget when they were contacted last.
    ChildForgetsContacts,
    /// A parent's snapshot takes the rows of its children away.
    InstallOverChildren,
    /// A removed replica takes rows with it that were its group's before a split.
    RemovalOverNeighbours,
    /// A removal deletes rows before it is sure to be remembered.
    TombstoneLate,
    /// A replica answers for the one that its node had before.
    AnswersForRemoved,
}

impl Bug {
    /// All of them.
    pub(super) const ALL: [Self; 12] = [
        Self::StaleTimeBase,
        Self::DeadlineFromReceipt,
        Self::TokenRestart,
        Self::PurgePastFlush,
        Self::KnownByDeposedLeader,
        Self::AnswerBeforeSync,
        Self::ChildTokensRestart,
        Self::ChildForgetsContacts,
        Self::InstallOverChildren,
        Self::RemovalOverNeighbours,
        Self::TombstoneLate,
        Self::AnswersForRemoved,
    ];

    /// Whether only a split brings it out; others are looked for in runs without one, whose seeds then stay.
    pub(super) const fn is_of_splits(self) -> bool {
        matches!(
            self,
            Self::ChildTokensRestart | Self::ChildForgetsContacts | Self::InstallOverChildren
        )
    }

    /// Whether only replicas that come and go bring it out.
    pub(super) const fn is_of_moves(self) -> bool {
        matches!(
            self,
            Self::RemovalOverNeighbours | Self::TombstoneLate | Self::AnswersForRemoved
        )
    }

    /// The rule of the product that it breaks; none where it is the fetcher's.
    const fn rule(self) -> Option<Rule> {
        match self {
            Self::StaleTimeBase => Some(Rule::ReceiptOfNewestEntry),
            Self::DeadlineFromReceipt => None,
            Self::TokenRestart => Some(Rule::TokensGoOn),
            Self::PurgePastFlush => Some(Rule::PurgeBelowFlush),
            Self::KnownByDeposedLeader => Some(Rule::KnownNeedsProof),
            Self::AnswerBeforeSync => Some(Rule::SyncBeforeAnswer),
            Self::ChildTokensRestart => Some(Rule::ChildTokensGoOn),
            Self::ChildForgetsContacts => Some(Rule::ChildKeepsContacts),
            Self::InstallOverChildren => Some(Rule::InstallSparesChildren),
            Self::RemovalOverNeighbours => Some(Rule::RemovalSparesNeighbours),
            Self::TombstoneLate => Some(Rule::TombstoneFirst),
            Self::AnswersForRemoved => Some(Rule::AnswersForItself),
        }
    }
}

/// Switches a bug's rule off.
pub(super) struct Switch(pub(super) Option<Bug>);

impl FaultHook for Switch {
    fn before(&self, _step: DiskStep) -> std::io::Result<()> {
        Ok(())
    }

    fn is_off(&self, rule: Rule) -> bool {
        self.0.and_then(Bug::rule) == Some(rule)
    }
}
