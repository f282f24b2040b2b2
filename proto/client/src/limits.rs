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
/// How long a connection may take to open, ms.
pub const CONNECT_TIMEOUT_MS: u64 = 5_000;
/// How often one call follows a leader hint before it gives up.
pub const LEADER_HOPS: usize = 4;
/// How long [`crate::Router::offer`] retries by default, ms.
pub const OFFER_DEADLINE_MS: u64 = 30_000;
/// Batches that one router has under way by default.
pub const OFFER_CONCURRENCY: usize = 16;
/// First and longest pause between two tries, ms. Each is shortened by up to half at random.
pub const RETRY_PAUSE_MS: (u64, u64) = (50, 2_000);
