//! Every limit of talking to a cluster from the command line. Those of processes that a command starts are in `cluster/limits`.

use std::time::Duration;

/// How long a command waits for a cluster that does not answer, or whose shards have no leader yet.
pub const CLUSTER_WITHIN: Duration = Duration::from_secs(30);
/// After so long it says what it waits for.
pub const CLUSTER_NOTE_AFTER: Duration = Duration::from_secs(2);
/// Pause between two tries.
pub const CLUSTER_PAUSE: Duration = Duration::from_millis(200);
/// Largest suffix list read, bytes.
pub const SUFFIX_LIST_BYTES: u64 = 4 << 20;
/// Largest file of recorded benches read, bytes.
pub const MEASURED_FILE_BYTES: u64 = 4 << 20;
