//! A node of the cluster.

/// Whether a node takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NodeState {
    /// It may be given replicas.
    Up = 0,
    /// Its replicas are moved away; it gets no new ones.
    Draining = 1,
    /// It left or was replaced. The entry stays as the tombstone of its incarnations.
    Gone = 2,
}

impl NodeState {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Draining => "draining",
            Self::Gone => "gone",
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Node {
    /// From 1; the place, whatever disk is in it.
    #[prost(uint32, tag = "1")]
    pub number: u32,
    /// Disks that the place has lost.
    #[prost(uint32, tag = "2")]
    pub incarnation: u32,
    /// host:port of its gRPC server.
    #[prost(string, tag = "3")]
    pub address: String,
    /// host:port of its metrics and status page; empty when it has none.
    #[prost(string, tag = "4")]
    pub http_address: String,
    /// It replicates groups.
    #[prost(bool, tag = "5")]
    pub holds_shards: bool,
    /// It keeps pages.
    #[prost(bool, tag = "6")]
    pub has_store: bool,
    /// A [`NodeState`].
    #[prost(enumeration = "NodeState", tag = "7")]
    pub state: i32,
    /// Random, drawn when its directory was made by joining: tells two directories apart that ask for one number and
    /// incarnation. 0: it came without one, as founders do.
    #[prost(fixed64, tag = "8")]
    pub disk: u64,
}

impl Node {
    /// Whether it may be given replicas.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.state() == NodeState::Up && self.holds_shards
    }
}
