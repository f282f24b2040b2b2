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
/// Bytes of one batch of rows of a restore.
pub const RESTORE_BATCH_SIZE_BYTES: usize = 2 << 20;
/// Leases that one `recover` ends.
pub const LEASES_PER_RECOVERY: usize = 256;
/// How far a recovery moves a counter on: more than can have been given out since what is known of it.
pub const RECOVERY_JUMP: u64 = 1 << 32;
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
/// Crawls of a shard, removed ones included.
pub const CRAWLS: usize = 1_024;
/// Fetcher sessions remembered; beyond, the one that expires first is forgotten.
pub const SESSIONS: usize = 65_536;
/// Shortest time that an idle host's row is kept after its last contact, ms (an hour). A crawl with a longer delay than any
/// that the shard has had, set after that, meets a host of which no contact is known.
pub const HOST_KEPT_MS: u64 = 3_600_000;
/// URLs that one entry moves from aliased hosts to the outbox.
pub const MOVES_PER_ENTRY: usize = 64;
/// Sessions, idle hosts (ended or put off) and URLs behind dead robots that one entry ends.
pub const ENDINGS_PER_ENTRY: usize = 64;
/// Hosts that a lease call looks at beyond twice its grants.
pub const HOSTS_LOOKED_AT: usize = 64;
/// Every how manyth grant takes the longest-ready host of any class, so that no class starves another.
pub const FAIR_GRANT_EVERY: u64 = 8;
/// Ready hosts counted per crawl and class for a summary; more count as this many.
pub const READY_COUNTED: usize = 128;
/// Rows or hosts that one slice of a removal looks at.
pub const LOOKED_AT_PER_SLICE: usize = 4_096;
/// Time until an errand's result counts as unreachable, ms.
pub const ROBOTS_PENDING_MS: u64 = 600_000;
/// Longest time between tries of an unreachable robots.txt, ms.
pub const ROBOTS_RETRY_CAP_MS: u64 = 86_400_000;
/// Shortest time between tries of a robots.txt that is unreachable while good rules are at hand, ms.
pub const ROBOTS_RETRY_WITH_RULES_MS: u64 = 3_600_000;
/// Leases of an errand that may expire before it is dropped.
pub const ERRAND_EXPIRIES: u32 = 3;
/// Attempts of a URL, and failures in a row of its host, after which a name that does not exist ends the URL.
pub const DNS_ATTEMPTS: u32 = 3;
/// Bytes of a validator; longer ones are not kept.
pub const VALIDATOR_SIZE_BYTES: usize = 1_024;
/// Bytes of a reason; longer ones are cut.
pub const REASON_SIZE_BYTES: usize = 64;
/// Stores that a URL's record names.
pub const STORES: usize = 16;
/// Page stores that are gone for good, as a shard remembers them.
pub const DEAD_STORES: usize = 1_024;
/// Splits that a shard remembers, to answer a repeat as before.
pub const SPLITS_REMEMBERED: usize = 64;
/// Any duration in a policy, ms (366 days).
pub const POLICY_DURATION_MS: u64 = 366 * 86_400_000;
