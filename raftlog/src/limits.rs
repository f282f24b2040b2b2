//! Every limit of this crate in one place.

/// Largest payload of one proposal, in bytes. Frontier batches stay far below it; it bounds what one entry can pin
/// in memory on every replica.
pub const MAX_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

/// Proposals of one group that may wait for their commit at the same moment.
pub const MAX_OUTSTANDING_PROPOSALS: usize = 4096;

/// Bytes of those proposals.
pub const MAX_OUTSTANDING_BYTES: usize = 64 * 1024 * 1024;

/// Reads that may wait for the same proof of leadership.
pub const MAX_WAITING_READS: usize = 16_384;

/// Newest entries of one group kept in memory after they were written, in bytes. Every group has its own.
pub const TAIL_CACHE_BYTES: usize = 2 * 1024 * 1024;

/// Most bytes that one fsync of the log covers; more waits for the next.
pub const MAX_LOG_BATCH_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes handed to the machine in one call of `apply`, so that one state batch stays bounded.
pub const MAX_APPLY_BYTES: usize = 4 * 1024 * 1024;

/// Most entries handed to the machine in one call of `apply`.
pub const MAX_APPLY_ENTRIES: usize = 1024;

/// Entries of one append request to another replica.
pub const MAX_APPEND_ENTRIES: u64 = 512;

/// Bytes of one append request to another replica. One entry always fits, whatever its size.
pub const MAX_APPEND_BYTES: usize = 1024 * 1024;

/// Most rows that one `scan` returns, whatever its caller asks for.
pub const MAX_SCAN_ROWS: usize = 1_000_000;
/// Scans of at most so many rows keep what they read in the block cache.
pub const CACHED_SCAN_ROWS: usize = 256;

/// Longest row key, in bytes.
pub const MAX_KEY_BYTES: usize = 16 * 1024;

/// Target size of one snapshot chunk, in bytes of keys and values. One row always fits.
pub const SNAPSHOT_CHUNK_BYTES: usize = 1024 * 1024;

/// Largest encoded snapshot chunk that a receiver accepts.
pub const MAX_SNAPSHOT_CHUNK_BYTES: usize = 64 * 1024 * 1024;

/// Size at which a staged snapshot file is closed and the next one begun, in bytes.
pub const STAGED_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Ranges of one group in one snapshot.
pub const MAX_GROUP_RANGES: usize = 256;

/// Chunks of an outgoing snapshot read ahead of the transport.
pub const SNAPSHOT_READ_AHEAD: usize = 2;

/// Snapshots that a node sends at the same moment, all groups together. More wait for their turn.
pub const MAX_SNAPSHOT_SENDS: usize = 4;

/// Time without an answer after which a replica's log is no longer kept for it, in milliseconds.
pub const LIVE_FOLLOWER_MS: u64 = 10_000;

/// How many times the log that is kept for a live follower is kept for one that is being fed a snapshot: the snapshot's
/// way may be long, and a receiver that finds the log purged behind it needs another.
pub const TRANSFER_HOLD_FACTOR: u64 = 8;

/// Members of one group.
pub const MAX_MEMBERS: usize = 64;

/// Most entries that a learner may lack to become a voter.
pub const MAX_PROMOTION_LAG_ENTRIES: u64 = 1000;
