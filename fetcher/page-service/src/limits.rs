//! Every bound of this crate in one place; what is configurable has its default here.

use std::time::Duration;

/// Encoded bytes of any message, either way: above the largest HTTP head that a store takes.
pub const MESSAGE_SIZE_BYTES: usize = 1 << 20;
/// Payload bytes in one message.
pub const CHUNK_SIZE_BYTES: usize = 256 << 10;
/// Messages of one stream that wait for the transport.
pub const STREAM_MESSAGES: usize = 2;
/// Digests in one `Has`.
pub const HAS_DIGESTS: usize = 1_024;
/// Puts that one service has open at most; further ones are refused. Their payload bytes are bounded by the store.
pub const OPEN_PUTS: usize = 512;
/// Payloads that one service reads and sends at once; further ones wait.
pub const OPEN_GETS: usize = 16;

/// How long a connection may take to open, ms.
pub const CONNECT_TIMEOUT_MS: u64 = 1_000;
/// How often an open call is checked for a living peer, and how long that may take to answer, ms.
pub const KEEP_ALIVE_MS: (u64, u64) = (2_000, 3_000);
/// How long a store may take to answer where it waits for no bytes, ms.
pub const ANSWER_TIMEOUT_MS: u64 = 10_000;
/// How long the next part of a payload may take to come or to go, ms.
pub const PART_TIMEOUT_MS: u64 = 10_000;
/// How long a payload may take as a whole, fsync included, ms: this and one second for each MiB.
pub const TRANSFER_BASE_MS: u64 = 10_000;
/// How long a scrub may be silent, ms.
pub const SCRUB_TIMEOUT_MS: u64 = 60_000;
/// How long a put waits for another one of the same digest before its bytes are taken too, ms.
pub const PATIENCE_MS: u64 = 3_000;

/// When to try again where the disk is full, ms.
pub const FULL_RETRY_MS: u64 = 5_000;
/// When to try again where the disk made an error, ms.
pub const FAILED_RETRY_MS: u64 = 1_000;
/// When to try again where too much is under way, ms.
pub const BUSY_RETRY_MS: u64 = 200;
/// When a second scrub may be tried, ms.
pub const SCRUB_RETRY_MS: u64 = 10_000;

/// Progress of a scrub is told after this many bytes.
pub const PROGRESS_SIZE_BYTES: u64 = 8 << 20;

/// Stores that a cluster may have; further ones are left out.
pub const STORES: usize = 1_024;
/// Copies of a page.
pub const COPIES: usize = 8;
/// How long a store that does not answer is left alone: at first and at most, ms.
pub const BACK_OFF_MS: (u64, u64) = (250, 5_000);
/// How long a store that is asked whether it is back may take, ms.
pub const PROBE_TIMEOUT_MS: u64 = 1_000;
/// The least time between two refreshes of the directory, and how long one may take, ms.
pub const REFRESH_MS: (u64, u64) = (1_000, 5_000);
/// Payloads above this are hashed off the async threads.
pub const INLINE_HASH_SIZE_BYTES: usize = 64 << 10;
/// Payloads above this are deflated off the async threads.
pub const INLINE_DEFLATE_SIZE_BYTES: usize = 4 << 10;

/// How long a payload of this size may take as a whole.
pub(crate) fn transfer_timeout(size_bytes: u64) -> Duration {
    let per_mib_ms = (size_bytes >> 20).saturating_mul(1_000);
    Duration::from_millis(TRANSFER_BASE_MS.saturating_add(per_mib_ms))
}
