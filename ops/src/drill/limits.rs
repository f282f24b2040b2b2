//! Every number of the drills in one place.

use std::time::Duration;

/// Id of the crawl.
pub const CRAWL: u32 = 1;
/// Nodes of a cluster.
pub const NODES: u32 = 3;
/// Shards of a cluster.
pub const SHARDS: u32 = 4;
/// Stores that hold each page.
pub const COPIES: u32 = 2;
/// Hosts of the fake web, by default.
pub const HOSTS: u32 = 60;
/// How long a lease lasts: what was in flight at a kill waits this long.
pub const LEASE_TTL: Duration = Duration::from_secs(10);
/// Longest time of one fetch.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(4);
/// First wait after a failure of a host, ms.
pub const BACK_OFF_BASE_MS: u64 = 500;
/// Attempts of a URL before it ends as unfetchable.
pub const ATTEMPTS: u32 = 8;
/// Open fetches of one fetcher.
pub const OPEN_FETCHES: u32 = 60;

/// How long the crawl may take to come to its pace.
pub const WARM_UP_WITHIN: Duration = Duration::from_secs(60);
/// How long a lease may be waited for.
pub const LEASE_WITHIN: Duration = Duration::from_secs(30);
/// How long a node that came back may take to have what the others have.
pub const CAUGHT_UP_WITHIN: Duration = Duration::from_secs(60);
/// How long the quiet phase may take beyond what the delays explain.
pub const QUIET_WITHIN: Duration = Duration::from_secs(150);
/// A crawl is over when nothing becomes ready within this time.
pub const PATIENCE: Duration = Duration::from_secs(12);
/// Looks in a row that must find a crawl idle.
pub const IDLE_LOOKS: u32 = 3;
/// Pause between two looks.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pause between two samples of what is ready.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Time limit of one call of a sample.
pub const SAMPLE_TIMEOUT: Duration = Duration::from_millis(400);
/// Samples kept.
pub const SAMPLES: usize = 1_000_000;
/// A time without requests and without samples counts as a pause from this length on.
pub const UNSAMPLED_GAP: Duration = Duration::from_millis(500);

/// Pause between two lease calls of a probe.
pub const PROBE_EVERY: Duration = Duration::from_millis(3);
/// How long a probe's call waits for a ready host, ms.
pub const PROBE_WAIT_MS: u64 = 500;
/// Pause between two looks at a replica's count of leases.
pub const WATCH_EVERY: Duration = Duration::from_millis(10);
/// How long a probe's lease lasts if it cannot be given back; the shortest there is.
pub const PROBE_TTL_MS: u64 = 5_000;

/// How long a split may take to be accepted, and its job to end.
pub const JOB_WITHIN: Duration = Duration::from_secs(60);
/// How long a drain may take, or the shares of a new node, with all their moves.
pub const QUIET_JOBS_WITHIN: Duration = Duration::from_secs(120);
/// Pause between two looks at a job.
pub const JOB_LOOK_EVERY: Duration = Duration::from_millis(50);
/// Pause between two looks at whether any job runs.
pub const QUIET_LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the nodes may take to give clients the map after a split.
pub const MAP_WITHIN: Duration = Duration::from_secs(20);
/// No shard is split when there are so many.
pub const MOST_SHARDS: usize = 24;

/// A crawl that lost a box keeps at least this share of its rate.
pub const KEPT_RATE: f64 = 0.75;
/// Pages read back at once.
pub const PAGE_READS: usize = 16;
/// Violations of one kind that are listed.
pub const SHOWN: usize = 10;

/// Exit code when a promise broke.
pub const EXIT_BROKEN: u8 = 2;
/// Exit code when the drill cannot be made here.
pub const EXIT_REFUSED: u8 = 3;
