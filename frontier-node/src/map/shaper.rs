//! What is asked of shards, as a trait: the driver's side of the seam between the map and the shards.
//!
//! Every call may be made any number of times, by one driver after another: what was done before is answered as done.

use std::collections::{BTreeMap, BTreeSet};

use raftlog::NodeId;

/// A split, as the parent's leader is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitOrder {
    /// The parent.
    pub shard: u64,
    /// Its epoch before the split.
    pub epoch: u64,
    /// The child's first hash.
    pub at: u64,
    /// The child's number.
    pub child: u64,
    /// The child's first voters: the parent's replica ids.
    pub voters: BTreeSet<NodeId>,
}

/// How one replica of a group stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The replica.
    pub replica: NodeId,
    /// Range and epoch as applied there; 0 for group 0.
    pub epoch: u64,
    /// First hash.
    pub first: u64,
    /// Last hash.
    pub last: u64,
    /// The term in which it leads.
    pub leader_term: Option<u64>,
    /// It has applied an entry of that term.
    pub is_proven: bool,
    /// Up to where it has applied.
    pub applied_index: u64,
    /// Voters of the newest membership in its log.
    pub voters: BTreeSet<NodeId>,
    /// Replicas of that membership that are fed without a vote.
    pub learners: BTreeSet<NodeId>,
}

/// One step of a change of a group's members, as the group's leader is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberOrder {
    /// The group; 0: the cluster's own.
    pub group: u64,
    /// The replica that comes, or that is not to come after all.
    pub replica: NodeId,
    /// What is done about it.
    pub change: MemberChange,
}

/// What is done about a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// It is fed without a vote.
    Add,
    /// Nothing is changed: done when it has almost all of the log.
    CatchUp,
    /// It votes, and the old one, where there is one, is no member any more.
    Vote {
        /// The voter that goes.
        old: Option<NodeId>,
    },
    /// It has no vote and is no member any more.
    Remove,
}

/// What a shard weighs, as its leader measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// About what its rows take on disk, bytes.
    pub size_bytes: u64,
    /// The hash at which its load is halved; `None`: it has fewer than two sites to divide.
    pub middle: Option<u64>,
}

/// Why a shard did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// It never will: its log has decided so, and no later entry takes that back.
    #[error("{0}")]
    Refused(String),
    /// Not now, or the outcome is unknown: ask again.
    #[error("{0}")]
    Unavailable(String),
}

/// What carries jobs out.
#[async_trait::async_trait]
pub trait Shaper: Send + Sync + 'static {
    /// The parent applies a split. Returns when it has, now or before.
    async fn split(&self, order: &SplitOrder) -> Result<(), ShapeError>;

    /// How the replicas of a group stand that are open and answer.
    async fn standings(&self, group: u64) -> Vec<Standing>;

    /// What a shard weighs, as its leader sees it.
    async fn weigh(&self, shard: u64) -> Result<Weight, ShapeError>;

    /// The leader of a group is asked to hand over to another replica.
    async fn hand_over(&self, group: u64, to: NodeId) -> Result<(), ShapeError>;

    /// The leader of a group takes one step of a change of its members. Returns when it is so and committed, now or before.
    async fn change_members(&self, order: &MemberOrder) -> Result<(), ShapeError>;

    /// Whether a replica is open on its node. [`ShapeError::Unavailable`]: the node does not answer.
    async fn has_replica(&self, group: u64, replica: NodeId) -> Result<bool, ShapeError>;

    /// How all open replicas of a node stand, by group. [`ShapeError::Unavailable`]: the node does not answer.
    async fn report(&self, node: u32) -> Result<BTreeMap<u64, Standing>, ShapeError>;
}

/// The replica that leads a group and has proven so; the newest, if two say so.
pub(super) async fn leader_of(group: u64, shaper: &dyn Shaper) -> Option<Standing> {
    let standings = shaper.standings(group).await.into_iter();
    standings
        .filter(|s| s.is_proven)
        .max_by_key(|s| s.leader_term)
}
