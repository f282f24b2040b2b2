//! Every limit of the crate.

/// Most hosts a web may have; host numbers are `u32` and names stay short.
pub const MAX_HOSTS: u32 = 10_000_000;
/// Most URLs a host may have.
pub const MAX_PAGES_PER_HOST: u32 = 10_000;
/// Most links a page may be asked to carry, beyond those that hold the web together.
pub const MAX_LINKS_PER_PAGE: u32 = 2_000;
/// Largest body the size knobs may ask for, in bytes.
pub const MAX_BODY_BYTES: u32 = 4 << 20;
/// Size of a page of the `oversize` feature, in bytes.
pub const OVERSIZE_BYTES: usize = 24 << 20;
/// Largest delay knob, in milliseconds.
pub const MAX_DELAY_MS: u32 = 60_000;
/// Most hosts the root of one host links to.
pub const MAX_FAN_OUT: u32 = 2_000;
/// Connections served at once; further ones wait in the kernel's backlog.
pub const MAX_CONNECTIONS: usize = 16_384;
/// Length of the kernel's accept queue.
pub const LISTEN_BACKLOG: u32 = 4_096;
/// Longest time a connection may take over a request's head or stay idle, in milliseconds.
pub const HEADER_READ_TIMEOUT_MS: u64 = 120_000;
/// Arrivals kept in memory for [`crate::RunningFakeWeb::arrivals`]; the log file has them all.
pub const MAX_KEPT_ARRIVALS: usize = 2_000_000;
/// Longest time an arrival waits for its write to the log file, in milliseconds.
pub const LOG_FLUSH_MS: u64 = 50;
/// Size at which the log is written without waiting for the flush interval, in bytes.
pub const LOG_BUFFER_BYTES: usize = 1 << 20;
/// URLs whose "answer 503 first" counter is kept; further ones answer 200 at once.
pub const MAX_COUNTED_URLS: usize = 65_536;
/// Longest line accepted in a manifest or an arrival log, in bytes.
pub const MAX_LINE_BYTES: usize = 64 << 10;
/// Entries listed per kind of violation in a report; the totals count all.
pub const MAX_LISTED: usize = 10_000;
/// Rows of each list in the plain-text table.
pub const MAX_TABLE_ROWS: usize = 20;
/// Size of the text that page bodies are cut from, in bytes.
pub(crate) const FILLER_BYTES: usize = 256 << 10;
/// Longest life of a connection to a hostile server, in milliseconds.
pub const HOSTILE_LIFE_MS: u64 = 120_000;
/// Longest request head a hostile server reads, in bytes.
pub const HOSTILE_HEAD_BYTES: usize = 64 << 10;
