//! Every limit of this crate in one place.

/// Items in one discover batch.
pub const DISCOVER_ITEMS: usize = 1_024;
/// Encoded bytes of one discover batch.
pub const DISCOVER_SIZE_BYTES: usize = 4 << 20;
/// Items in one report or release batch.
pub const REPORT_ITEMS: usize = 256;
/// Encoded bytes of one report batch.
pub const REPORT_SIZE_BYTES: usize = 8 << 20;
/// Leases of one call.
pub const LEASES_PER_CALL: u32 = 256;
/// Shortest and longest time to live of a lease, ms.
pub const LEASE_TTL_MS: (u64, u64) = (5_000, 600_000);
/// Longest wait of a lease call, ms.
pub const LEASE_WAIT_MS: u64 = 60_000;
/// Encoded bytes of any message, either way. Above every batch limit, so that those answer with their own name.
pub const MESSAGE_SIZE_BYTES: usize = 16 << 20;
/// How long a call over gRPC may take, its asked wait apart, ms.
pub const CALL_TIMEOUT_MS: u64 = 15_000;
/// How long the next part of an export may take, ms.
pub const EXPORT_STALL_MS: u64 = 30_000;
/// How long a connection may take to open, ms.
pub const CONNECT_TIMEOUT_MS: u64 = 1_500;
/// After how long without a frame a connection with open calls is asked whether it lives, ms.
pub const KEEP_ALIVE_MS: u64 = 500;
/// How long the answer to that may take, ms: then every call on it fails, a parked one too.
pub const KEEP_ALIVE_TIMEOUT_MS: u64 = 1_200;
/// Frontier processes that one router knows, at most.
pub const PEERS: usize = 128;
/// How long one try waits by default before others are asked as well, its asked wait apart, ms.
pub const ATTEMPT_MS: u64 = 1_500;
/// The same for a process that did not answer before, ms.
pub const SUSPECT_ATTEMPT_MS: u64 = 250;
/// How long a whole call takes by default, its asked wait apart, ms.
pub const CALL_MS: u64 = 10_000;
/// How long a call looks for a leader by default while nobody knows one, ms.
pub const LEADERLESS_MS: u64 = 3_000;
/// The same while most processes do not answer at all, ms: no election can succeed.
pub const QUORUM_LOST_MS: u64 = 1_000;
/// First and longest time for which a process that failed is asked last, ms.
pub const SUSPECT_MS: (u64, u64) = (250, 2_000);
/// First and longest time for which calls to a shard that nobody leads fail at once, ms.
pub const DEAD_MS: (u64, u64) = (250, 2_000);
/// Time between two questions for one shard's leader, all calls of a router together, ms.
pub const SEARCH_TURN_MS: u64 = 20;
/// Replicas of one shard that an answer may name, at most.
pub const SHARD_REPLICAS: usize = 16;
/// Least time between two readings of the map by calls whose shards' replicas do not help, all together, ms.
pub const LOOK_UP_PAUSE_MS: u64 = 500;
/// Shortest and longest pause of one call before it asks for the leader again, ms.
pub const ELECTION_PAUSE_MS: (u64, u64) = (20, 100);
/// Hints that one call follows in a row without a pause.
pub const LEADER_HOPS: usize = 4;
/// Silent tries of one call that are still listened to.
pub const OPEN_TRIES: usize = 3;
/// Batches that a shard gets at once before it has shown that it keeps up.
pub const WINDOW_START: usize = 4;
/// Longest pause that is granted to a shard that asks for one, ms.
pub const OVERLOAD_HOLD_MS: u64 = 10_000;
/// How long [`crate::Router::offer`] retries by default, ms.
pub const OFFER_DEADLINE_MS: u64 = 30_000;
/// Batches of one shard that a router has under way by default, at most.
pub const OFFER_CONCURRENCY: usize = 16;
/// First and longest pause between two tries, ms. Each is shortened by up to half at random.
pub const RETRY_PAUSE_MS: (u64, u64) = (50, 2_000);
/// How often one link is offered under another name, its host being folded into another.
pub const ALIAS_HOPS: u32 = 4;
/// How often one call goes to a new owner of what it asks for.
pub const OWNER_HOPS: u32 = 3;
