//! Every limit of this crate in one place. What a file may configure has its default and its bounds here.

/// Open fetches of one process, by default.
pub const DEFAULT_OPEN_FETCHES: usize = 200;
/// Open fetches of one process, at most.
pub const MAX_OPEN_FETCHES: usize = 10_000;

/// Leases asked for in one call, at most (the wire's bound).
pub const MAX_LEASES_A_CALL: u32 = 256;
/// How long a lease lasts by default, ms: whole fetch timeout, durable put, links and report fit several times.
pub const DEFAULT_LEASE_TTL_MS: u64 = 120_000;
/// The wire's bounds of a lease's length, ms.
pub const LEASE_TTL_BOUNDS_MS: (u64, u64) = (5_000, 600_000);
/// How long a lease call waits for something ready, ms. Short enough that a stop need not wait long for its answer.
pub const DEFAULT_POLL_WAIT_MS: u64 = 2_000;
/// The wire's bound of that wait, ms.
pub const MAX_POLL_WAIT_MS: u64 = 60_000;
/// Finished leases remembered, to drop a repeated grant.
pub const REMEMBERED_LEASES: usize = 16_384;

/// Least margin of a lease's deadline, ms; on top comes a five-hundredth of its length.
pub const DEADLINE_MARGIN_MS: u64 = 1_000;
/// The margin grows by one ms for so many ms of the lease.
pub const DEADLINE_MARGIN_DIVISOR: u64 = 500;

/// Name, connection, handshake: default bound, ms.
pub const DEFAULT_CONNECT_TIMEOUT_MS: u64 = 10_000;
/// From the request to the end of the response's head: default bound, ms.
pub const DEFAULT_FIRST_BYTE_TIMEOUT_MS: u64 = 15_000;
/// Between two pieces of a body: default bound, ms.
pub const DEFAULT_IDLE_TIMEOUT_MS: u64 = 10_000;
/// A whole fetch: default bound, ms. The frontier's default for the same thing.
pub const DEFAULT_FETCH_TIMEOUT_MS: u64 = 30_000;
/// Bounds of every one of these, ms.
pub const TIMEOUT_BOUNDS_MS: (u64, u64) = (1, 300_000);
/// A body slower than this on average is given up, bytes a second.
pub const DEFAULT_MIN_RATE_BYTES_PER_S: u64 = 64;
/// No judgement of the rate before this, ms.
pub const DEFAULT_MIN_RATE_GRACE_MS: u64 = 10_000;

/// A response's head, bytes (case G17).
pub const MAX_HEADER_BYTES: usize = 256 * 1024;
/// Header fields of one response.
pub const MAX_HEADER_FIELDS: usize = 512;
/// Flow-control window of an HTTP/2 stream, bytes: what a peer may send ahead of us.
pub const H2_STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// Flow-control window of an HTTP/2 connection, bytes.
pub const H2_CONNECTION_WINDOW_BYTES: u32 = 512 * 1024;
/// Bytes of a page's body as it travels, by default.
pub const DEFAULT_MAX_COMPRESSED_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a page's body decoded, by default.
pub const DEFAULT_MAX_DECODED_BYTES: u64 = 16 * 1024 * 1024;
/// Either cap, at most: what the page store takes by default.
pub const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of all bodies in memory together, by default.
pub const DEFAULT_BODY_BUDGET_BYTES: u64 = 512 * 1024 * 1024;
/// Decoded to compressed, at most.
pub const MAX_COMPRESSION_RATIO: u64 = 200;
/// The ratio is not judged before so many decoded bytes: short repetitive pages compress well.
pub const RATIO_FREE_BYTES: u64 = 1024 * 1024;
/// Content codings applied to one body (RFC 9110 section 8.4 allows any number).
pub const MAX_CODINGS: usize = 2;
/// Decoded bytes handed on at a time.
pub const DECODE_CHUNK_BYTES: usize = 32 * 1024;
/// Largest zstd window, as a power of two: 8 MiB, what RFC 9659 section 3 grants content codings.
pub const ZSTD_WINDOW_LOG: u32 = 23;

/// A longer validator is not kept (it travels in reports and requests).
pub const MAX_VALIDATOR_BYTES: usize = 512;
/// A longer `Location` is no target.
pub const MAX_LOCATION_BYTES: usize = 16 * 1024;
/// A longer `Retry-After` counts as this one: 31 days, in ms.
pub const MAX_RETRY_AFTER_MS: u64 = 31 * 24 * 3_600 * 1_000;
/// Redirects of one robots.txt (RFC 9309 section 2.3.1.2).
pub const MAX_ROBOTS_HOPS: u32 = 5;

/// Links offered from one page, by default and at most: a report must be able to carry them all.
pub const MAX_LINKS_A_PAGE: usize = 1_000;
/// Items one report may carry undelivered (the wire's bound).
pub const MAX_UNDELIVERED: usize = 1_024;
/// Acknowledged links remembered, by default: as 8-byte hashes.
pub const DEFAULT_KNOWN_LINKS: usize = 262_144;
/// Parsed robots.txt files kept.
pub const ROBOTS_CACHE_ENTRIES: usize = 4_096;
/// A page whose rules are not there is given back after this, ms, so that it does not come round at once.
pub const RULES_PAUSE_MS: u64 = 200;
/// Tries to get a robots.txt body from its shard.
pub const ROBOTS_BODY_TRIES: u32 = 4;

/// Reports sent in one call, at most (the wire's bound).
pub const MAX_REPORTS_A_CALL: usize = 256;
/// Bytes of reports sent in one call; the wire's bound is 8 MiB and one robots body has half a MiB.
pub const MAX_REPORT_CALL_BYTES: usize = 6 * 1024 * 1024;
/// First and longest pause between tries of a call, ms.
pub const RETRY_PAUSE_MS: (u64, u64) = (20, 2_000);
/// A report is tried until its lease has been over for this long, ms.
pub const REPORT_GRACE_MS: u64 = 60_000;
/// A slot is free after this although the frontier has not answered for its lease's end, ms.
pub const REPORT_SLOT_MS: u64 = 3_000;
/// Ends of leases on their way, for each slot: with more of them a slot waits for the answer.
pub const PENDING_A_SLOT: usize = 2;
/// How often one who waits for a slot asks those for theirs who only wait for work, ms.
pub const SLOT_ASK_MS: u64 = 5;
/// How often one who waits for a slot looks whether there is anybody to ask, ms.
pub const SLOT_LOOK_MS: u64 = 100;
/// While slots are scarce a shard without work is looked at again after this, at least and at most, ms.
pub const IDLE_LOOK_MS: (u64, u64) = (50, 500);
/// How often a shard whose work can wait looks whether slots are left for it, ms.
pub const SHARE_LOOK_MS: u64 = 50;
/// A lease call that does not wait for work is overdue after this, ms: its slots may go to others.
pub const LEASE_OVERDUE_MS: u64 = 500;
/// How often a paused fetcher asks the page stores whether they can write again, ms.
pub const STORE_LOOK_MS: u64 = 500;
/// How long a paused fetcher waits for what the stores say, ms.
pub const STORE_ANSWER_MS: u64 = 1_500;
/// Stores that each page goes to in a cluster, by default.
pub const DEFAULT_COPIES: usize = 2;
/// Stores that each page goes to, at most.
pub const MAX_COPIES: usize = page_service::limits::COPIES;
/// Bytes of a file that a process reads its settings from; a suffix list is the longest of them.
pub const MAX_CONFIG_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// First and longest pause between two tries to find a cluster, ms.
pub const CONNECT_PAUSE_MS: (u64, u64) = (500, 5_000);
/// How long the links of one page are offered, ms; then they travel with the report.
pub const LINKS_DEADLINE_MS: u64 = 15_000;
/// Items of several pages that go to one shard in one call, at most; a page that has more goes alone.
pub const MAX_OFFERED_A_CALL: usize = client::limits::DISCOVER_ITEMS;
/// How long items of a shard are gathered while a call to it is under way, ms; then the next one goes out beside it.
pub const GATHER_LONGEST_MS: u64 = 1_000;
/// How often a process reads the shard map although nothing says that it is behind, ms.
pub const MAP_REFRESH_MS: u64 = 10_000;
/// How often the list of shards is read again, ms.
pub const SHARDS_REFRESH_MS: u64 = 2_000;
/// First and longest pause of leasing after the page store refused to write, ms.
pub const STORE_PAUSE_MS: (u64, u64) = (1_000, 60_000);
/// A stop ends open fetches after this, by default, ms.
pub const DEFAULT_SHUTDOWN_MS: u64 = 10_000;

/// Names cached by the resolver, by default.
pub const DEFAULT_DNS_CACHE_ENTRIES: usize = 65_536;
/// Names looked up at once, by default; more wait.
pub const DEFAULT_DNS_LOOKUPS: usize = 64;
/// Addresses of one name that are used.
pub const MAX_ADDRESSES: usize = 16;
/// Bounds of an answer's time in the cache, ms.
pub const DNS_TTL_BOUNDS_MS: (u64, u64) = (5_000, 3_600_000);
/// How long "no such name" is kept, ms.
pub const DNS_NOT_FOUND_TTL_MS: u64 = 300_000;
/// How long a failure to ask is kept, ms: short, so that one lost packet does not block a host (case I7).
pub const DNS_FAILURE_TTL_MS: u64 = 5_000;
/// One lookup with all its retries, ms.
pub const DNS_TIMEOUT_MS: u64 = 8_000;

/// `reason` of an outcome, bytes (the wire's bound).
pub const MAX_REASON_BYTES: usize = 64;
/// Contact in the User-Agent and product token, bytes.
pub const MAX_AGENT_BYTES: usize = 256;
