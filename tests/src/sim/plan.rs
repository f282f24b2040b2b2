//! What a seed decides before anything runs.

use super::bug::Bug;
use super::growth::SHARDS_A_NODE;
use super::rng::Rng;

/// Nodes that found the cluster, each with a replica of every shard.
pub(super) const FOUNDERS: u64 = 3;
/// The crawl that fetchers work on.
pub(super) const CRAWL: u32 = 1;
/// The crawl whose URLs are never leased: they are offered, forgotten and offered again.
pub(super) const FORGOTTEN_CRAWL: u32 = 2;

/// One run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) bug: Option<Bug>,
    /// Nodes there are, those that join later included.
    pub(super) nodes: u64,
    /// The first of them, which found it.
    pub(super) founders: u64,
    pub(super) shards: u64,
    pub(super) hosts: u64,
    pub(super) pages_per_host: u64,
    pub(super) fetchers: u64,
    /// Least time between two contacts of a host.
    pub(super) min_delay_ms: u64,
    pub(super) fetch_timeout_ms: u64,
    pub(super) ttl_ms: u64,
    /// How long faults go on.
    pub(super) fault_ms: u64,
    /// Between two faults.
    pub(super) fault_pause_ms: (u64, u64),
    /// How long healing may take.
    pub(super) heal_ms: u64,
    /// One way of a message, when nothing is wrong.
    pub(super) delay_ms: (u64, u64),
    pub(super) loss_permille: u64,
    pub(super) repeat_permille: u64,
    /// Messages from nodes to fetchers and clients that come much later than others.
    pub(super) late_answer_permille: u64,
    /// Leases that a fetcher uses in their last moment.
    pub(super) last_moment_permille: u64,
    /// Heartbeat, shortest and longest election timeout: of the plan, so that seeds outlive a change of the defaults.
    pub(super) raft_ms: (u64, u64, u64),
    /// How long a sync takes when nothing is wrong.
    pub(super) sync_ms: (u64, u64),
    /// Clock rates of the nodes, in parts per million off.
    pub(super) node_ppm: Vec<i64>,
    pub(super) log_keep_entries: u64,
    pub(super) flush_interval_ms: u64,
    /// Shards that are split while faults go on.
    pub(super) splits: u64,
    /// Moves and drains that somebody wants while faults go on; 0: the places of all replicas stay.
    pub(super) moves: u64,
}

impl Plan {
    /// The run of a seed.
    pub(super) fn new(seed: u64, bug: Option<Bug>) -> Self {
        let mut rng = Rng::new(seed, 1);
        let fetch_timeout_ms = rng.between((800, 2_000));
        // Of their own numbers: all else of a seed is as it is without splits.
        let splits = *Rng::new(seed, 9).pick(&[0, 1, 2, 2, 3]);
        let mut more = Rng::new(seed, 11);
        let moves = *more.pick(&[0, 0, 1, 2, 3, 5]);
        let moves = match bug {
            None => moves,
            Some(bug) if bug.is_of_moves() => moves.max(3),
            Some(_) => 0,
        };
        let joins = if moves > 0 { more.between((1, 2)) } else { 0 };
        let ppm = |rng: &mut Rng| *rng.pick(&[-500, -100, 0, 100, 500]);
        Self {
            seed,
            bug,
            nodes: FOUNDERS + joins,
            founders: FOUNDERS,
            shards: rng.between((1, 2)),
            hosts: rng.between((3, 6)),
            pages_per_host: rng.between((4, 10)),
            fetchers: rng.between((2, 3)),
            min_delay_ms: *rng.pick(&[700, 1_000, 2_000]),
            fetch_timeout_ms,
            ttl_ms: rng.between((5_000, 9_000)),
            fault_ms: rng.between((15_000, 35_000)),
            fault_pause_ms: *rng.pick(&[(100, 1_500), (300, 2_000), (500, 4_000)]),
            heal_ms: 400_000,
            delay_ms: *rng.pick(&[(2, 4), (2, 12), (3, 60)]),
            loss_permille: *rng.pick(&[0, 0, 3, 20]),
            repeat_permille: *rng.pick(&[0, 10, 50]),
            node_ppm: (0..FOUNDERS)
                .map(|_| ppm(&mut rng))
                .chain((0..joins).map(|_| ppm(&mut more)))
                .collect(),
            log_keep_entries: *rng.pick(&[0, 5, 20, 200]),
            flush_interval_ms: *rng.pick(&[500, 2_000, 10_000]),
            late_answer_permille: *rng.pick(&[0, 0, 30, 200]),
            last_moment_permille: *rng.pick(&[40, 400]),
            raft_ms: *rng.pick(&[(150, 500, 1_000), (240, 500, 800)]),
            sync_ms: *rng.pick(&[(1, 4), (1, 4), (4, 40)]),
            splits: if bug.is_none_or(|bug| bug.is_of_splits() || bug.is_of_moves()) {
                splits
            } else {
                0
            },
            moves,
        }
    }

    /// A cluster without faults, whose nodes all found it.
    pub(super) fn growing(seed: u64, nodes: u64, hosts: u64, pages_per_host: u64) -> Self {
        Self {
            nodes,
            founders: nodes,
            shards: SHARDS_A_NODE * nodes,
            hosts,
            pages_per_host,
            fetchers: 0,
            min_delay_ms: 1_000,
            fetch_timeout_ms: 2_000,
            ttl_ms: 60_000,
            delay_ms: (2, 4),
            loss_permille: 0,
            repeat_permille: 0,
            late_answer_permille: 0,
            raft_ms: (240, 500, 800),
            sync_ms: (1, 4),
            node_ppm: vec![0; nodes as usize],
            log_keep_entries: 1_000,
            flush_interval_ms: 10_000,
            splits: 0,
            moves: 0,
            ..Self::new(seed, None)
        }
    }

    /// Whether replicas come and go.
    pub(super) const fn has_moves(&self) -> bool {
        self.moves > 0
    }

    /// Whether nodes hear of a map: where replicas come and go, or not every founder has every shard.
    pub(super) const fn is_mapped(&self) -> bool {
        self.has_moves() || self.founders > FOUNDERS
    }

    /// The host of a number. Sites differ, so that they lie in different shards.
    pub(super) fn host(number: u64) -> String {
        format!("www.site{number}.example")
    }

    /// The page of a number.
    pub(super) fn page(&self, number: u64) -> String {
        let (host, page) = (number % self.hosts, number / self.hosts);
        format!("http://{}/p{page}", Self::host(host))
    }

    /// How many pages there are.
    pub(super) const fn pages(&self) -> u64 {
        self.hosts * self.pages_per_host
    }

    /// The pages that a page links to: always the same.
    pub(super) fn links(&self, url: &str) -> Vec<String> {
        let number = url.bytes().fold(self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut rng = Rng::new(number, 2);
        (0..rng.below(4))
            .map(|_| self.page(rng.below(self.pages())))
            .collect()
    }
}
