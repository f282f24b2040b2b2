//! Identities: nodes, groups, and the fencing token of one leadership.

/// A replica of a group, or the process it lives in. Never reused: an empty disk rejoins under a new id, and so does a
/// replica that comes back to a group which removed it.
///
/// | bits | what |
/// |---|---|
/// | 0 to 15 | the node's number |
/// | 16 to 31 | how often the process came back to the group; 0 in the id of the process itself |
/// | 32 to 63 | how many disks the node has lost |
pub type NodeId = u64;

/// The bits of an id that differ between the replicas of one process.
const RETURNS_MASK: NodeId = 0xffff_0000;

/// The process of a replica: a node on one disk. It is what a transport reaches; a process checks the replica itself.
pub const fn process_of(replica: NodeId) -> NodeId {
    replica & !RETURNS_MASK
}

/// Whether a replica may come after one that was removed: its id was issued later. Both are of one process.
pub(crate) const fn comes_after(replica: NodeId, removed: NodeId) -> bool {
    replica > removed
}

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

#[cfg(test)]
mod tests {
    use super::process_of;

    #[test]
    fn a_process_has_many_replicas_and_a_disk_one_process() {
        let returned = |returns: u64| (2 << 32) | (returns << 16) | 3;
        assert_eq!(process_of(3), 3);
        assert_eq!(process_of(returned(0)), returned(0));
        assert_eq!(process_of(returned(0xffff)), returned(0));
        assert_ne!(process_of(returned(1)), process_of(3), "another disk");
    }
}
