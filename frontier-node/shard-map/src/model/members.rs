//! Who replicates one group: a shard, or group 0 itself.

use super::replica_id::ReplicaId;

/// What a replica does in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Role {
    /// Its fsync counts.
    Voter = 0,
    /// It is being fed by a move and will vote.
    Learner = 1,
}

/// One replica.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Replica {
    /// A [`ReplicaId`].
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// A [`Role`].
    #[prost(enumeration = "Role", tag = "2")]
    pub role: i32,
}

impl Replica {
    pub(crate) fn new(id: ReplicaId, role: Role) -> Self {
        Self {
            id: id.0,
            role: role.into(),
        }
    }

    /// Its id, taken apart.
    #[must_use]
    pub const fn replica_id(&self) -> ReplicaId {
        ReplicaId(self.id)
    }

    /// Its node.
    #[must_use]
    pub const fn node(&self) -> u32 {
        self.replica_id().node()
    }
}

/// The replicas of one group, and which ids were ever given out in it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Members {
    /// By id. One a node, except while a new incarnation takes the place of its older one.
    #[prost(message, repeated, tag = "1")]
    pub replicas: Vec<Replica>,
    /// Rises with every change of range or replicas; starts at 1.
    #[prost(uint64, tag = "2")]
    pub epoch: u64,
    /// The newest id issued for each node, ascending by node. An id up to that which is not among `replicas` is a
    /// tombstone: it never comes back.
    #[prost(uint64, repeated, tag = "3")]
    pub issued: Vec<u64>,
    /// Nodes that placement must keep, ascending; empty: the ring decides.
    #[prost(uint32, repeated, tag = "4")]
    pub pinned: Vec<u32>,
    /// The node that should lead; 0: any.
    #[prost(uint32, tag = "5")]
    pub wished_leader: u32,
}

impl Members {
    /// A group of voters that starts with these ids.
    pub(crate) fn of(voters: impl IntoIterator<Item = ReplicaId>, epoch: u64) -> Self {
        let mut members = Self {
            epoch,
            ..Self::default()
        };
        for id in voters {
            members.add(id, Role::Voter);
        }
        members
    }

    /// The voters.
    pub fn voters(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.iter().filter(|r| r.role() == Role::Voter)
    }

    /// The voter on a node.
    #[must_use]
    pub fn voter_on(&self, node: u32) -> Option<ReplicaId> {
        let mut voters = self.voters();
        voters.find(|r| r.node() == node).map(Replica::replica_id)
    }

    /// Whether a node has a replica, of whatever role.
    #[must_use]
    pub fn is_on(&self, node: u32) -> bool {
        self.replicas.iter().any(|r| r.node() == node)
    }

    /// Whether this replica is one.
    #[must_use]
    pub fn has(&self, id: ReplicaId) -> bool {
        self.replicas.iter().any(|r| r.id == id.0)
    }

    /// The newest id that a node ever had here.
    #[must_use]
    pub fn newest_issued(&self, node: u32) -> Option<ReplicaId> {
        let mut issued = self.issued.iter().map(|id| ReplicaId(*id));
        issued.find(|id| id.node() == node)
    }

    /// The id that the next replica on a node's present disk gets; `None`: they are used up.
    #[must_use]
    pub fn next_id(&self, node: u32, incarnation: u32) -> Option<ReplicaId> {
        match self.newest_issued(node) {
            Some(newest) => newest.after(incarnation),
            None => Some(ReplicaId::new(node, incarnation, 0)),
        }
    }

    /// Adds a replica whose id was never issued here.
    pub(crate) fn add(&mut self, id: ReplicaId, role: Role) {
        self.issued
            .retain(|issued| ReplicaId(*issued).node() != id.node());
        self.issued.push(id.0);
        self.issued.sort_unstable_by_key(|id| ReplicaId(*id).node());
        self.replicas.push(Replica::new(id, role));
        self.replicas.sort_unstable_by_key(|replica| replica.id);
    }

    /// Takes a replica away; what remains of it is its tombstone.
    pub(crate) fn retire(&mut self, id: ReplicaId) {
        self.replicas.retain(|replica| replica.id != id.0);
        if !self.is_on(self.wished_leader) {
            self.wished_leader = 0;
        }
    }

    /// Lets a learner vote.
    pub(crate) fn promote(&mut self, id: ReplicaId) {
        for replica in &mut self.replicas {
            if replica.id == id.0 {
                replica.set_role(Role::Voter);
            }
        }
    }
}
