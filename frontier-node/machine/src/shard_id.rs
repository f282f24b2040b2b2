//! The number of a shard, unique in a cluster and never reused.

/// A shard's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardId(pub u64);
