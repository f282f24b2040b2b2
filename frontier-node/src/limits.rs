//! Every limit of this crate in one place. Limits of the calls themselves are those of [`client::limits`].

/// Shards of one node.
pub const SHARDS: u64 = 1_024;
/// Calls of one shard that may wait for an entry at the same moment.
pub const WAITING_CALLS: usize = 8_192;
/// Bytes of those calls, all shards of the node together.
pub const WAITING_SIZE_BYTES: usize = 128 << 20;
/// When to try again after a refusal for load, ms.
pub const OVERLOAD_RETRY_MS: u64 = 100;
/// Commands that share one entry.
pub const ENTRY_COMMANDS: usize = 128;
/// Bytes of the commands that share one entry. One command always fits.
pub const ENTRY_SIZE_BYTES: usize = 1 << 20;
/// Entries of one shard under way at once: enough to keep the log's fsync busy, few enough that calls gather meanwhile.
pub const ENTRIES_IN_FLIGHT: usize = 4;
/// How long a call waits for its commit, ms. After that its outcome is unknown to the caller.
pub const COMMIT_TIMEOUT_MS: u64 = 10_000;
/// How long a call waits before it looks whether a quorum is there at all, ms. Above the longest election timeout.
pub const QUORUM_PATIENCE_MS: u64 = 1_500;
/// Lease calls of one shard that may be parked.
pub const PARKED_POLLS: usize = 4_096;
/// Sessions whose newest call a leader remembers. A forgotten one costs one log entry.
pub const REMEMBERED_SESSIONS: usize = 65_536;
/// Shortest time between two ticks of one shard, ms.
pub const TICK_PAUSE_MS: u64 = 200;
/// Longest time between two entries of a leader with future work, ms.
pub const TICK_INTERVAL_MS: u64 = 10_000;
/// Reads of rows and machines that block a thread, under way at once.
pub const BLOCKING_READS: usize = 64;
/// Calls that the gRPC server works on at once, parked lease calls included.
pub const GRPC_CALLS: usize = 16_384;
/// Connections of the gRPC server, where the limit of open files allows so many.
pub const GRPC_CONNECTIONS: usize = raft_net::limits::MAX_CONNECTIONS;
/// Connections of the server of metrics and the status page.
pub const HTTP_CONNECTIONS: usize = 256;
/// Streams of one gRPC connection.
pub const GRPC_STREAMS: u32 = 4_096;
/// Outbox rows delivered in one round.
pub const OUTBOX_ROWS: usize = 1_024;
/// How often a leader looks for outbox rows, ms.
pub const OUTBOX_INTERVAL_MS: u64 = 500;
/// First and longest back-off of an owner that does not take its rows, ms.
pub const OUTBOX_BACK_OFF_MS: (u64, u64) = (1_000, 60_000);
/// How long one round of deliveries tries, ms.
pub const OUTBOX_OFFER_MS: u64 = 5_000;
/// Rows read at once while the filter is filled.
pub const FILTER_SCAN_ROWS: usize = 16_384;
/// Pause before a failed scan is tried again, ms.
pub const FILTER_RETRY_MS: u64 = 500;
/// Bits of the filter for each expected URL.
pub const FILTER_BITS_PER_URL: u64 = 10;
/// Smallest and largest number of expected URLs.
pub const EXPECTED_URLS: (u64, u64) = (1_000, 100_000_000_000);
/// Bytes of a validator (ETag, Last-Modified). A longer one is dropped: the next visit is unconditional.
pub const VALIDATOR_SIZE_BYTES: usize = 1_024;
/// Bytes of a reason in a report.
pub const REASON_SIZE_BYTES: usize = 64;
/// Stores that one report may name.
pub const STORES_PER_REPORT: usize = 16;
/// Bytes of a removal's cursor.
pub const CURSOR_SIZE_BYTES: usize = 4_096;
/// Bytes of the node's configuration file.
pub const CONFIG_SIZE_BYTES: u64 = 1 << 20;
/// How long a stopping node waits for its shards, ms.
pub const SHUTDOWN_MS: u64 = 10_000;
/// Pause before a lease call is woken again after one got nothing, ms.
pub const EMPTY_GRANT_PAUSE_MS: u64 = 100;
/// Rows that one slice of a listing reads at most.
pub const LISTING_ROWS: usize = 1_024;
/// Hosts that one slice of a listing names at most.
pub const LISTED_HOSTS: usize = 1_024;
/// Voters that each group of a new cluster should have unless told otherwise.
pub const DEFAULT_REPLICAS: u32 = 3;
/// Largest number of a node: it shares a 32-bit store id with the count of disks that the node lost.
pub const NODE_NUMBER: u64 = 65_535;
/// Largest incarnation of a node: it shares a 32-bit store id with the node's number.
pub const INCARNATION: u32 = 65_535;
/// Rounds of hellos, a pause apart, for which members may say that the present incarnation of a node lives, before a new
/// one gives up. Longer than a link takes to notice that its other end fell silent.
pub const ALIVE_ROUNDS: u32 = 40;
/// How long one hello may take, ms.
pub const HELLO_TIMEOUT_MS: u64 = 1_000;
/// Pause between rounds of hellos while a node is not a member yet, ms.
pub const BOOTSTRAP_PAUSE_MS: u64 = 200;
/// Pause between hellos of members, ms.
pub const GOSSIP_INTERVAL_MS: u64 = 1_000;
/// After so much the next candidate takes over from a dead leader, ms.
pub const TAKEOVER_STEP_MS: u64 = 150;
/// How long a stopping node tries to hand its leaderships over, ms.
pub const HAND_OVER_MS: u64 = 2_000;
/// How long the server of the handshake may take to end, ms.
pub const HANDSHAKE_STOP_MS: u64 = 500;
/// How long a voter that was asked to take over may take, ms.
pub const HAND_OVER_RETRY_MS: u64 = 300;
/// Bytes of a request's id in the log.
pub const REQUEST_ID_SIZE_BYTES: usize = 64;
/// Space that is kept free on the device unless told otherwise, bytes: rows, logs and pages stop before it is used.
pub const DEFAULT_MIN_FREE_BYTES: u64 = 128 << 20;
/// How long an election after a takeover may take before somebody stands again, ms.
pub const TAKEOVER_PATIENCE_MS: u64 = 300;
/// How often that is tried; after that election timeouts decide.
pub const TAKEOVER_TRIES: u32 = 5;
/// How long the first election of a takeover may take before the same candidate stands once more, ms.
pub const TAKEOVER_AGAIN_MS: u64 = 100;
/// Least time between two offers of a leadership because of a full disk, ms.
pub const GIVE_WAY_PAUSE_MS: u64 = 5_000;
/// Pause before the opening of a split's child is tried again, ms.
pub const OPEN_RETRY_MS: u64 = 500;
/// First and longest time for which a child's first election may take before its parent's leader stands again, ms. Doubled
/// each time: the others' votes must come within one of them.
pub const FIRST_ELECTION_PAUSE_MS: (u64, u64) = (30, 500);
/// How long a change of the shard map looks for a leader of group 0, ms.
pub const CHANGE_WITHIN_MS: u64 = 8_000;
/// Pause between two tries of it, ms.
pub const CHANGE_PAUSE_MS: u64 = 100;
/// How long one command may take at the node that leads group 0, ms. Longer than that node waits for a commit.
pub const CHANGE_MAP_TIMEOUT_MS: u64 = 12_000;
/// How long a copy of the shard map may take to come, ms.
pub const FETCH_MAP_TIMEOUT_MS: u64 = 5_000;
/// Least time between two rounds of hellos because the map has changed, ms.
pub const MAP_NEWS_PAUSE_MS: u64 = 50;
/// How long a node that wants to join tries to reach any member before it gives up, ms.
pub const JOIN_REACH_MS: u64 = 20_000;
/// How long a node may take to say how a replica stands, ms.
pub const STANDING_TIMEOUT_MS: u64 = 1_000;
/// How long a shard may take to apply a split, to find the middle of its load, or to change its members, ms.
pub const SHAPE_TIMEOUT_MS: u64 = 12_000;
/// How long a leader may take to be asked for a hand-over, ms.
pub const HAND_OVER_CALL_TIMEOUT_MS: u64 = 2_000;
/// Bytes of one command to the shard map.
pub const MAP_COMMAND_SIZE_BYTES: usize = 256 << 10;
/// How often the leader of group 0 looks whether nodes have moved or lost a disk, ms.
pub const UPKEEP_INTERVAL_MS: u64 = 2_000;
/// First and longest pause before a job whose next step was not possible is looked at again, ms.
pub const JOB_PAUSE_MS: (u64, u64) = (100, 2_000);
/// Jobs of which a step is taken at the same moment.
pub const DRIVEN_JOBS: usize = 16;
/// How often the leader of group 0 asks all nodes how their replicas stand, ms.
pub const SURVEY_INTERVAL_MS: u64 = 1_000;
/// Moves under way at the same moment that were begun unasked or by a drain. Each one feeds a whole replica.
pub const MOVES_AT_ONCE: usize = 4;
/// Of these, moves off one node that is being emptied.
pub const EVACUATED_AT_ONCE: usize = 2;
/// A move to a node that is silent for so long, or that does not make its replica in that time, is taken back, ms.
pub const MOVE_PATIENCE_MS: u64 = 30_000;
/// A job that stays at one step for so long is stuck, ms: nothing is moved for the sake of evenness meanwhile.
pub const STUCK_AFTER_MS: u64 = 60_000;
/// Leaders are uneven for so long before one is handed over for that, ms.
pub const BALANCE_PATIENCE_MS: u64 = 30_000;
/// How often shards are weighed, if they are split by themselves, ms.
pub const WEIGH_INTERVAL_MS: u64 = 10_000;
/// Splits under way at once that were begun unasked.
pub const SPLITS_AT_ONCE: usize = 2;
/// How long a leader waits for the commit of what its members are already, ms.
pub const SETTLE_MS: u64 = 5_000;
/// Pause between two looks at it, ms.
pub const SETTLE_PAUSE_MS: u64 = 20;
/// How long a read of `admin.v1` waits for the proof that its copy is the newest, ms; then it is answered without.
pub const ADMIN_PROOF_MS: u64 = 2_000;
/// Calls of `admin.v1` that a node works on at once.
pub const ADMIN_CALLS: usize = 64;
/// Bytes of one request of `admin.v1`: a batch of rows of a restore is the largest.
pub const ADMIN_REQUEST_SIZE_BYTES: usize = 3 << 20;
/// Bytes of rows after which a part of an export is sent; one row more may be in it.
pub const EXPORT_PART_SIZE_BYTES: usize = 256 << 10;
/// Parts of an export that wait to be sent.
pub const EXPORT_PARTS: usize = 4;
/// Exports at once: each holds a view of all rows, and old versions of rows as long as it takes.
pub const EXPORTS: usize = 2;
/// How long an export waits for its reader to take a part, ms.
pub const EXPORT_STALL_MS: u64 = 30_000;
