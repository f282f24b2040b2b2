//! Identities: nodes, groups, and the fencing token of one leadership.

/// A replica's process. Never reused: an empty disk rejoins under a new id.
pub type NodeId = u64;

/// A Raft group: one shard of the frontier, or the cluster's own group.
pub type GroupId = u64;

/// Fencing token of one leadership of one group. A proposal carries the token under which it was made; it is never
/// submitted under another leadership, not even a later one of the same node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeadershipToken {
    pub(crate) term: u64,
}

impl LeadershipToken {
    /// The term of this leadership. At most one node leads in a term.
    pub fn term(self) -> u64 {
        self.term
    }
}

/// What this replica knows about who leads its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leadership {
    /// This replica won the election of `term`, has applied an entry of that term, and has not seen a later one. It
    /// may be deposed without knowing: proposals are fenced, and reads need `Group::confirm_leadership`.
    pub is_leader: bool,
    /// The newest term this replica has seen.
    pub term: u64,
    /// The leader of that term, where it is known.
    pub leader: Option<NodeId>,
}

impl Leadership {
    /// The token to propose with, while this replica leads.
    pub fn token(&self) -> Option<LeadershipToken> {
        self.is_leader
            .then_some(LeadershipToken { term: self.term })
    }
}
