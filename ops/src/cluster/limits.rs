//! Every limit of talking to a cluster's processes.

use std::time::Duration;

/// How long a process may take to print its ready line.
pub const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long a process may take to end after SIGTERM.
pub const STOP_WITHIN: Duration = Duration::from_secs(30);
/// How often the end of a process is looked for.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Lines of a log shown with an error.
pub const SHOWN_LOG_LINES: usize = 12;
/// Bytes of a log read for that.
pub const SHOWN_LOG_BYTES: u64 = 16 << 10;
/// Longest ready line, bytes.
pub const READY_LINE_BYTES: usize = 4 << 10;
/// Time limit of one call to a node.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a call is tried again while shards have no leader.
pub const RETRY_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two tries.
pub const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How long seeds may take to be taken.
pub const OFFER_WITHIN: Duration = Duration::from_secs(30);
/// URLs of one shard read at most.
pub const LISTED_URLS: usize = 10_000_000;
