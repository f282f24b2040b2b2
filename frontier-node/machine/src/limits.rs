//! Every limit of the machine, in one place.

/// Items in one discover batch.
pub const DISCOVER_ITEMS: usize = 1_024;
/// Items in one report or release batch.
pub const REPORT_ITEMS: usize = 256;
/// Grants in one lease call.
pub const LEASES_PER_CALL: u32 = 256;
/// Shortest and longest time to live of a lease, ms.
pub const LEASE_TTL_MS: (u64, u64) = (5_000, 600_000);
/// Due leases that one entry expires.
pub const EXPIRIES_PER_ENTRY: usize = 64;
/// Due visits that one entry promotes.
pub const PROMOTIONS_PER_ENTRY: usize = 64;
/// Bytes of a robots.txt body (RFC 9309 2.5 asks for at least 500 KiB).
pub const ROBOTS_BODY_SIZE_BYTES: usize = 500 * 1_024;
/// Redirects of a robots.txt (RFC 9309 2.3.1.2).
pub const ERRAND_HOPS: u32 = 5;
/// Errands waiting at one target host.
pub const ERRANDS_PER_HOST: usize = 16;
/// Lanes (crawl and authority) of one host.
pub const LANES_PER_HOST: usize = 64;
/// Bytes of a URL.
pub const URL_SIZE_BYTES: usize = 8_192;
/// Bytes of all metadata of a URL, and its pairs.
pub const METADATA_SIZE_BYTES: usize = 4_096;
/// Pairs of metadata of a URL.
pub const METADATA_PAIRS: usize = 16;
/// Bytes of a queue key.
pub const QUEUE_KEY_SIZE_BYTES: usize = 255;
/// Undelivered items that one report may carry.
pub const UNDELIVERED_PER_REPORT: usize = 1_024;
/// Outbox rows of a shard.
pub const OUTBOX_ROWS: u64 = 1_000_000;
/// URLs that one slice of a removal touches.
pub const REMOVALS_PER_SLICE: usize = 256;
/// Days after which a URL behind unreachable robots ends.
pub const ROBOTS_UNREACHABLE_DAYS: u64 = 30;
