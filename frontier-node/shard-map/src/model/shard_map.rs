//! The map: one version of the cluster's shape.

use super::{
    crawl::Crawl,
    identity::Identity,
    job::{Job, Plan},
    members::Members,
    node::{Node, NodeState},
    replica_id::ReplicaId,
    shard::Shard,
};

/// The number of the cluster's own group, which replicates the map.
pub const GROUP_ZERO: u64 = 0;

/// One version of the shard map. The default is the map of a cluster that was not founded yet.
///
/// Every node's copy suffices to route: [`ShardMap::owner`].
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ShardMap {
    /// Rises by one with every command that changes something; 0: not founded.
    #[prost(uint64, tag = "1")]
    pub version: u64,
    /// Random, drawn at founding.
    #[prost(fixed64, tag = "2")]
    pub cluster_id: u64,
    /// What all processes agree on.
    #[prost(message, required, tag = "3")]
    pub identity: Identity,
    /// Voters that each group should have.
    #[prost(uint32, tag = "4")]
    pub replica_target: u32,
    /// By number.
    #[prost(message, repeated, tag = "5")]
    pub nodes: Vec<Node>,
    /// By first hash; they tile the hash space.
    #[prost(message, repeated, tag = "6")]
    pub shards: Vec<Shard>,
    /// The replicas of group 0.
    #[prost(message, required, tag = "7")]
    pub group_zero: Members,
    /// By number.
    #[prost(message, repeated, tag = "8")]
    pub crawls: Vec<Crawl>,
    /// By number; the newest [`crate::limits::ENDED_JOBS`] of the ended ones are kept.
    #[prost(message, repeated, tag = "9")]
    pub jobs: Vec<Job>,
    /// The number of the next shard.
    #[prost(uint64, tag = "10")]
    pub next_shard: u64,
    /// The number of the next job.
    #[prost(uint64, tag = "11")]
    pub next_job: u64,
}

impl ShardMap {
    /// Whether there is a cluster.
    #[must_use]
    pub const fn is_founded(&self) -> bool {
        self.version > 0
    }

    /// The shard that owns a hash; `None` only before the founding.
    #[must_use]
    pub fn owner(&self, partition: u64) -> Option<&Shard> {
        let after = self.shards.partition_point(|s| s.first <= partition);
        let shard = self.shards.get(after.checked_sub(1)?)?;
        shard.holds(partition).then_some(shard)
    }

    /// A shard by its number.
    #[must_use]
    pub fn shard(&self, id: u64) -> Option<&Shard> {
        self.shards.iter().find(|shard| shard.id == id)
    }

    /// The replicas of a shard or of group 0.
    #[must_use]
    pub fn members(&self, group: u64) -> Option<&Members> {
        if group == GROUP_ZERO {
            return self.is_founded().then_some(&self.group_zero);
        }
        self.shard(group).map(|shard| &shard.members)
    }

    pub(crate) fn members_mut(&mut self, group: u64) -> Option<&mut Members> {
        if group == GROUP_ZERO {
            return Some(&mut self.group_zero);
        }
        let mut shards = self.shards.iter_mut();
        shards.find(|s| s.id == group).map(|s| &mut s.members)
    }

    /// Group 0 and the shards, each with its replicas.
    pub fn groups(&self) -> impl Iterator<Item = (u64, &Members)> {
        let zero = self.is_founded().then_some((GROUP_ZERO, &self.group_zero));
        zero.into_iter()
            .chain(self.shards.iter().map(|s| (s.id, &s.members)))
    }

    pub(crate) fn groups_mut(&mut self) -> impl Iterator<Item = &mut Members> {
        let shards = self.shards.iter_mut().map(|s| &mut s.members);
        std::iter::once(&mut self.group_zero).chain(shards)
    }

    /// A node by its number, gone ones included.
    #[must_use]
    pub fn node(&self, number: u32) -> Option<&Node> {
        let at = self.nodes.binary_search_by_key(&number, |n| n.number);
        at.ok().map(|at| &self.nodes[at])
    }

    pub(crate) fn node_mut(&mut self, number: u32) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|n| n.number == number)
    }

    /// Nodes that may be given replicas.
    pub fn usable_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_usable())
    }

    /// Nodes that are not gone.
    pub fn present_nodes(&self) -> impl Iterator<Item = &Node> {
        let is_present = |node: &&Node| node.state() != NodeState::Gone;
        self.nodes.iter().filter(is_present)
    }

    /// How many replicas a node has, of whatever role and disk.
    #[must_use]
    pub fn replicas_on(&self, node: u32) -> usize {
        let of = |members: &Members| members.replicas.iter().filter(|r| r.node() == node).count();
        self.groups().map(|(_, members)| of(members)).sum()
    }

    /// The move that brings a replica to a node, or destroys the one it had.
    #[must_use]
    pub fn move_of_node(&self, node: u32) -> Option<&Job> {
        let is_of = |id: u64| ReplicaId(id).node() == node;
        self.running_jobs()
            .find(|job| matches!(&job.plan, Some(Plan::Move(m)) if is_of(m.old) || is_of(m.new)))
    }

    /// Whether a node has no replica, not even one that is coming or being destroyed.
    #[must_use]
    pub fn is_empty(&self, node: u32) -> bool {
        self.replicas_on(node) == 0 && self.move_of_node(node).is_none()
    }

    /// A job by its number.
    #[must_use]
    pub fn job(&self, id: u64) -> Option<&Job> {
        let at = self.jobs.binary_search_by_key(&id, |job| job.id);
        at.ok().map(|at| &self.jobs[at])
    }

    /// The job that a request began; 0 stands for none.
    #[must_use]
    pub fn job_of_request(&self, request: u64) -> Option<&Job> {
        let mut jobs = self.jobs.iter().filter(|_| request != 0);
        jobs.find(|job| job.request == request)
    }

    pub(crate) fn job_mut(&mut self, id: u64) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.id == id)
    }

    /// Jobs that were not ended.
    pub fn running_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.is_running())
    }

    /// The job that changes a group now.
    #[must_use]
    pub fn job_of_shard(&self, shard: u64) -> Option<&Job> {
        self.running_jobs().find(|job| job.concerns(shard))
    }

    /// The drain or replacement of a node that goes on now.
    #[must_use]
    pub fn job_of_node(&self, node: u32) -> Option<&Job> {
        self.running_jobs()
            .find(|job| job.evacuates() == Some(node))
    }

    /// A crawl by its number, removed ones included.
    #[must_use]
    pub fn crawl(&self, id: u32) -> Option<&Crawl> {
        self.crawls.iter().find(|crawl| crawl.id == id)
    }
}
