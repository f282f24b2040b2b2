//! Why a command changed nothing.

use crate::model::NodeState;

/// A refusal: an answer of the map, the same on every node. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no cluster yet.
    #[error("the cluster is not founded")]
    NotFounded,
    /// There is one, founded otherwise.
    #[error("cluster {0:016x} is founded already")]
    AlreadyFounded(u64),
    /// The command has no body that this version knows.
    #[error("this version does not know the command")]
    UnknownCommand,
    /// The command makes no sense by itself.
    #[error("{0}")]
    Invalid(&'static str),
    /// Something is as large as it may be.
    #[error("{what} is at its limit of {max}")]
    Limit {
        /// What.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The caller saw another version of the map.
    #[error("the map has version {current}, not {given}")]
    StaleMap {
        /// In the command.
        given: u64,
        /// The map's.
        current: u64,
    },
    /// The caller saw another epoch of the shard.
    #[error("shard {shard} has epoch {current}, not {given}")]
    StaleEpoch {
        /// The shard.
        shard: u64,
        /// In the command.
        given: u64,
        /// The shard's.
        current: u64,
    },
    /// No such shard.
    #[error("no shard {0}")]
    UnknownShard(u64),
    /// No such node.
    #[error("no node {0}")]
    UnknownNode(u32),
    /// No such job, or it ended long ago and was forgotten.
    #[error("no job {0}")]
    UnknownJob(u64),
    /// The shard cannot be cut there.
    #[error("shard {shard} owns {first:016x} to {last:016x} and cannot be split at {at:016x}")]
    OutsideRange {
        /// The shard.
        shard: u64,
        /// Where.
        at: u64,
        /// Its first hash.
        first: u64,
        /// Its last hash.
        last: u64,
    },
    /// The node replicates the shard already.
    #[error("node {node} has shard {shard} already")]
    HasReplica {
        /// The shard.
        shard: u64,
        /// The node.
        node: u32,
    },
    /// The node does not vote in the shard.
    #[error("node {node} has no voter of shard {shard}")]
    HasNoVoter {
        /// The shard.
        shard: u64,
        /// The node.
        node: u32,
    },
    /// The shard has all the voters that it should have.
    #[error("shard {shard} has {voters} voters already")]
    EnoughVoters {
        /// The shard.
        shard: u64,
        /// How many.
        voters: u64,
    },
    /// The node may not be given replicas.
    #[error("node {node} takes no replicas: {why}")]
    NodeNotUsable {
        /// The node.
        node: u32,
        /// Why.
        why: &'static str,
    },
    /// The last node stays.
    #[error("node {0} is the last one")]
    LastNode(u32),
    /// The replicas would have no place.
    #[error("{left} nodes would be left, and the groups need {needed}")]
    NotEnoughNodes {
        /// Nodes that some group needs.
        needed: usize,
        /// Nodes left.
        left: usize,
    },
    /// The node still has replicas.
    #[error("node {node} has {replicas} replicas")]
    NodeNotEmpty {
        /// The node.
        node: u32,
        /// How many.
        replicas: usize,
    },
    /// The shard has a job.
    #[error("job {job} works on shard {shard}")]
    ShardBusy {
        /// The shard.
        shard: u64,
        /// Its job.
        job: u64,
    },
    /// The node is being emptied by a job, or is the target of one.
    #[error("job {job} concerns node {node}")]
    NodeBusy {
        /// The node.
        node: u32,
        /// The job.
        job: u64,
    },
    /// Another suffix list, canonicaliser or fingerprint key.
    #[error("{what} differs: the cluster has {ours:x}, not {given:x}")]
    IdentityMismatch {
        /// What differs.
        what: &'static str,
        /// The cluster's.
        ours: u64,
        /// In the command.
        given: u64,
    },
    /// Of another cluster.
    #[error("this is cluster {ours:016x}, not {given:016x}")]
    OtherCluster {
        /// This one.
        ours: u64,
        /// In the command.
        given: u64,
    },
    /// That disk of the node was given up.
    #[error("node {node} is at incarnation {current} ({}), so {given} does not come back", .state.name())]
    IncarnationReused {
        /// The node.
        node: u32,
        /// In the command.
        given: u32,
        /// The newest known.
        current: u32,
        /// What became of it.
        state: NodeState,
    },
    /// Another directory has that number and incarnation.
    #[error("number {0} is taken by another directory")]
    NumberTaken(u32),
    /// Another node is at that address.
    #[error("node {0} has that address")]
    AddressTaken(u32),
    /// That replica id was used in that shard.
    #[error("replica {replica} of shard {shard} was issued before")]
    ReplicaReused {
        /// The shard.
        shard: u64,
        /// The id.
        replica: u64,
    },
    /// The node came back to the shard too often on this disk.
    #[error("node {node} has no replica id left for shard {shard}")]
    ReplicaIdsUsedUp {
        /// The shard.
        shard: u64,
        /// The node.
        node: u32,
    },
    /// The job is elsewhere.
    #[error("job {job} is at \"{current}\", not at \"{expected}\"")]
    WrongStep {
        /// The job.
        job: u64,
        /// In the command.
        expected: &'static str,
        /// Where it is.
        current: &'static str,
    },
    /// What was done cannot be taken back any more: it will be finished.
    #[error("job {job} is at \"{step}\" and can only be finished")]
    PastReturn {
        /// The job.
        job: u64,
        /// Where it is.
        step: &'static str,
    },
    /// The job has ended.
    #[error("job {job} has ended: {end}")]
    JobEnded {
        /// The job.
        job: u64,
        /// How.
        end: &'static str,
    },
    /// A majority of the child's replicas must be there first.
    #[error("{created} of the child's replicas are there, {needed} are needed")]
    TooFewCreated {
        /// How many are there.
        created: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A new identity needs a cluster without URLs.
    #[error("the cluster is not drained: {0}")]
    NotDrained(String),
    /// A removed crawl does not come back.
    #[error("crawl {0} was removed")]
    CrawlRemoved(u32),
}
