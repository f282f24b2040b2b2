//! The id of a replica: which node, which of its disks, and how often it came back to the group.
//!
//! ```text
//! 63          32 31        16 15         0
//! | incarnation |  returns   |   node    |
//! ```
//!
//! A replica that was removed has forgotten its votes, so it must not vote under an old id. A node that lost its disk
//! comes back under the next incarnation; a node that a group left and returns to, on the same disk, gets the next
//! return. In one group the ids of a node only grow, hence the newest one that was issued tells of every other whether
//! it is retired.

/// A replica of a group. Unique in its group for ever; a founding replica's id is its node's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplicaId(pub u64);

impl ReplicaId {
    /// Of a node's disk, and how often the node came back to the group on it.
    #[must_use]
    pub const fn new(node: u32, incarnation: u32, returns: u16) -> Self {
        Self(((incarnation as u64) << 32) | ((returns as u64) << 16) | (node as u64 & 0xffff))
    }

    /// Its node.
    #[must_use]
    pub const fn node(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    /// Disks that its node had lost when it was made.
    #[must_use]
    pub const fn incarnation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How often the node had come back to the group on that disk.
    #[must_use]
    pub const fn returns(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The next id of the node in a group where `self` is the newest; `None`: this disk came back too often.
    #[must_use]
    pub const fn after(self, incarnation: u32) -> Option<Self> {
        if incarnation > self.incarnation() {
            return Some(Self::new(self.node(), incarnation, 0));
        }
        match self.returns().checked_add(1) {
            Some(returns) if incarnation == self.incarnation() => {
                Some(Self::new(self.node(), incarnation, returns))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_apart_again_and_a_founding_one_is_the_number_of_its_node() {
        for (node, incarnation, returns) in [(1, 0, 0), (65_535, 9, 65_535), (300, u32::MAX, 1)] {
            let id = ReplicaId::new(node, incarnation, returns);
            assert_eq!(
                (id.node(), id.incarnation(), id.returns()),
                (node, incarnation, returns)
            );
        }
        assert_eq!(ReplicaId::new(3, 0, 0).0, 3);
        assert_eq!(ReplicaId::new(3, 2, 0).0, (2 << 32) | 3);
    }

    #[test]
    fn the_next_id_is_always_larger() {
        let id = ReplicaId::new(3, 2, 5);
        assert_eq!(id.after(2), Some(ReplicaId::new(3, 2, 6)));
        assert_eq!(id.after(4), Some(ReplicaId::new(3, 4, 0)));
        assert!(id.after(2) > Some(id) && id.after(4) > id.after(2));
        assert_eq!(id.after(1), None);
        assert_eq!(ReplicaId::new(3, 2, u16::MAX).after(2), None);
    }
}
