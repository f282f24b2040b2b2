//! Every bound of the store in one place; what is configurable has its default and its hard limit here.

/// Longest target URL, in bytes: the hard limit of the canonicaliser.
pub const URL_MAX_SIZE_BYTES: usize = 8_192;

/// Largest HTTP head (status line and headers) that is stored, in bytes.
pub const HEAD_MAX_SIZE_BYTES: usize = 512 * 1024;

/// Longest protocol name (`h2`, `http/1.1`), in bytes.
pub const PROTOCOL_MAX_SIZE_BYTES: usize = 32;

/// Longest reason phrase, in bytes.
pub const REASON_MAX_SIZE_BYTES: usize = 512;

/// Longest software name in the `warcinfo` record, in bytes.
pub const SOFTWARE_MAX_SIZE_BYTES: usize = 256;

/// Largest payload unless configured, in bytes.
pub const PAYLOAD_DEFAULT_MAX_SIZE_BYTES: u64 = 64 * 1024 * 1024;

/// Largest payload that may be configured, in bytes; also what a reader accepts.
pub const PAYLOAD_HARD_MAX_SIZE_BYTES: u64 = 256 * 1024 * 1024;

/// Largest WARC header of a record, in bytes.
pub const RECORD_HEADER_MAX_SIZE_BYTES: usize = 64 * 1024;

/// Largest record after decompression, in bytes: a reader inflates no further.
pub const RECORD_MAX_SIZE_BYTES: u64 =
    PAYLOAD_HARD_MAX_SIZE_BYTES + (HEAD_MAX_SIZE_BYTES + RECORD_HEADER_MAX_SIZE_BYTES) as u64 + 4;

/// Deflate level unless configured: 1 is fast, 9 is small.
pub const COMPRESSION_DEFAULT_LEVEL: u32 = 4;

/// Largest gzip member, in bytes: deflate grows what it cannot shrink by less than a thousandth.
pub const MEMBER_MAX_SIZE_BYTES: u64 =
    RECORD_MAX_SIZE_BYTES + RECORD_MAX_SIZE_BYTES / 1_000 + 1_024;

/// Size at which a segment is closed unless configured, in bytes.
pub const SEGMENT_DEFAULT_MAX_SIZE_BYTES: u64 = 1024 * 1024 * 1024;

/// Smallest configurable segment size, in bytes.
pub const SEGMENT_LEAST_MAX_SIZE_BYTES: u64 = 1_024;

/// Largest configurable segment size, in bytes.
pub const SEGMENT_HARD_MAX_SIZE_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// Puts that may wait at once unless configured.
pub const WAITING_DEFAULT_MAX_COUNT: usize = 1_024;

/// Puts that may be configured to wait at once.
pub const WAITING_HARD_MAX_COUNT: usize = 65_536;

/// Payload bytes that may wait at once unless configured.
pub const WAITING_DEFAULT_MAX_SIZE_BYTES: u64 = 256 * 1024 * 1024;

/// Payload bytes that may be configured to wait at once.
pub const WAITING_HARD_MAX_SIZE_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// Compressed bytes that share one fsync at most, unless configured. A single larger record still goes down alone.
pub const GROUP_DEFAULT_MAX_SIZE_BYTES: u64 = 16 * 1024 * 1024;

/// Compressed bytes that may be configured to share one fsync.
pub const GROUP_HARD_MAX_SIZE_BYTES: u64 = 1024 * 1024 * 1024;

/// Segment bytes after which the index is flushed unless configured: what a restart reads again at most.
pub const INDEX_FLUSH_DEFAULT_SIZE_BYTES: u64 = 64 * 1024 * 1024;

/// Time after which a changed index is flushed unless configured, in milliseconds.
pub const INDEX_FLUSH_DEFAULT_INTERVAL_MS: u64 = 30_000;

/// Memory for index rows that are not yet in a file, in bytes.
pub const INDEX_WRITE_BUFFER_SIZE_BYTES: usize = 16 * 1024 * 1024;

/// Memory for index blocks read from files, in bytes.
pub const INDEX_BLOCK_CACHE_SIZE_BYTES: usize = 32 * 1024 * 1024;

/// Index files held open at most.
pub const INDEX_OPEN_FILES_MAX_COUNT: i32 = 256;

/// Index rows written at once while a store is opened.
pub const RECOVERY_BATCH_MAX_COUNT: usize = 1_000;

/// Problems a scrub describes; further ones are only counted.
pub const SCRUB_PROBLEMS_MAX_COUNT: usize = 1_000;
