//! Every limit of the map, in one place.

/// Largest number of a node: it is also the lower half of a 32-bit store id.
pub const NODE_NUMBER: u32 = 65_535;
/// Nodes of a cluster, gone ones included.
pub const NODES: usize = 4_096;
/// Shards of a cluster.
pub const SHARDS: usize = 16_384;
/// Voters of one group.
pub const REPLICAS: u32 = 7;
/// Crawls of a cluster, removed ones included: as many as a shard keeps.
pub const CRAWLS: usize = 1_024;
/// Ended jobs that are remembered.
pub const ENDED_JOBS: usize = 256;
/// Running jobs.
pub const RUNNING_JOBS: usize = 1_024;
/// Bytes of an address.
pub const ADDRESS_SIZE_BYTES: usize = 300;
/// Bytes of a crawl's name.
pub const NAME_SIZE_BYTES: usize = 256;
/// Bytes of a crawl's policy as its shards take it.
pub const POLICY_SIZE_BYTES: usize = 4_096;
/// Bytes of a reason; a longer one is cut.
pub const REASON_SIZE_BYTES: usize = 256;
