//! What was counted between two moments.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use raftlog::EngineMetrics;

use super::super::cluster::Cluster;
use super::super::plan::Plan;
use super::COUNTED_MS;
use super::fetcher::Counts;

/// Everything that counts, at one moment.
pub(super) struct Moment {
    pages: u64,
    /// Of fetchers, and their bytes.
    calls: (u64, u64),
    /// By node.
    engines: Vec<EngineMetrics>,
    /// Messages between nodes, and their bytes.
    between_nodes: (u64, u64),
    /// Newest entry by shard, and the node that leads it.
    led: BTreeMap<u64, (u64, u64)>,
    shortest_gap_ms: Option<u64>,
}

impl Moment {
    pub(super) fn now(cluster: &Cluster, counts: &Counts) -> Self {
        let plan = &cluster.world.plan;
        let (mut engines, mut led) = (Vec::new(), BTreeMap::new());
        for number in 1..=plan.nodes {
            let node = cluster.process(number).node().unwrap();
            let engine = node.engine();
            engines.push(engine.metrics());
            for shard in 1..=plan.shards {
                let status = engine.group(shard).map(|group| group.status());
                if let Some(status) = status.filter(|status| status.is_leader) {
                    led.insert(shard, (status.applied_index, number));
                }
            }
        }
        Self {
            pages: counts.pages(),
            calls: cluster.world.net.calls(),
            engines,
            between_nodes: cluster.world.net.between_nodes(),
            led,
            shortest_gap_ms: cluster.world.web.totals().1,
        }
    }

    fn sum(&self, of: fn(&EngineMetrics) -> u64) -> u64 {
        self.engines.iter().map(of).sum()
    }
}

/// What a run came to. Figures a page are sums over all nodes and fetchers.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) nodes: u64,
    pub(super) shards: u64,
    pub(super) pages: u64,
    pub(super) pages_per_s: f64,
    /// Of one page a delay from every host.
    pub(super) percent_of_ceiling: f64,
    pub(super) calls_a_page: f64,
    pub(super) call_bytes_a_page: f64,
    /// Of the leaders' logs.
    pub(super) entries_a_page: f64,
    pub(super) fsyncs_a_page: f64,
    pub(super) log_bytes_a_page: f64,
    pub(super) raft_messages_a_page: f64,
    pub(super) raft_bytes_a_page: f64,
    /// The node that wrote most to its log, by the mean.
    pub(super) busiest_log: f64,
    /// The node that led most entries, by the mean.
    pub(super) busiest_leader: f64,
    pub(super) shortest_gap_ms: Option<u64>,
    /// How long the run took in real time, all nodes on one thread.
    pub(super) real_seconds: f64,
}

impl Figures {
    pub(super) fn between(plan: &Plan, before: &Moment, after: &Moment, took: Duration) -> Self {
        let pages = after.pages - before.pages;
        let a_page = |count: u64| count as f64 / pages as f64;
        let sum = |of: fn(&EngineMetrics) -> u64| a_page(after.sum(of) - before.sum(of));
        let mut led = vec![0; plan.nodes as usize];
        for (shard, (index, node)) in &after.led {
            let since = before.led.get(shard).map_or(0, |(index, _)| *index);
            led[*node as usize - 1] += index - since;
        }
        let logs = after.engines.iter().zip(&before.engines);
        let logs: Vec<u64> = logs
            .map(|(now, then)| now.entry_bytes - then.entry_bytes)
            .collect();
        let seconds = COUNTED_MS as f64 / 1e3;
        let pages_per_s = pages as f64 / seconds;
        let ceiling = plan.hosts as f64 * 1e3 / plan.min_delay_ms as f64;
        Self {
            nodes: plan.nodes,
            shards: plan.shards,
            pages,
            pages_per_s,
            percent_of_ceiling: pages_per_s / ceiling * 100.0,
            calls_a_page: a_page(after.calls.0 - before.calls.0),
            call_bytes_a_page: a_page(after.calls.1 - before.calls.1),
            entries_a_page: a_page(led.iter().sum()),
            fsyncs_a_page: sum(|engine| engine.fsyncs),
            log_bytes_a_page: sum(|engine| engine.entry_bytes),
            raft_messages_a_page: a_page(after.between_nodes.0 - before.between_nodes.0),
            raft_bytes_a_page: a_page(after.between_nodes.1 - before.between_nodes.1),
            busiest_log: busiest(&logs),
            busiest_leader: busiest(&led),
            shortest_gap_ms: after.shortest_gap_ms,
            real_seconds: took.as_secs_f64(),
        }
    }
}

/// The largest by the mean.
fn busiest(loads: &[u64]) -> f64 {
    let most = loads.iter().copied().max().unwrap_or(0);
    most as f64 * loads.len() as f64 / loads.iter().sum::<u64>() as f64
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            shards,
            pages,
            ..
        } = self;
        write!(
            out,
            "{nodes} nodes, {shards} shards: {pages} pages, {:.1} /s = {:.1} % of one a delay; a page: {:.2} calls of fetchers \
             ({:.0} bytes), {:.2} entries, {:.2} syncs and {:.0} bytes of logs, {:.2} messages between nodes ({:.0} bytes); \
             busiest node by the mean: log {:.2}, leader {:.2}; shortest gap {:?} ms; {:.1} s of real time",
            self.pages_per_s,
            self.percent_of_ceiling,
            self.calls_a_page,
            self.call_bytes_a_page,
            self.entries_a_page,
            self.fsyncs_a_page,
            self.log_bytes_a_page,
            self.raft_messages_a_page,
            self.raft_bytes_a_page,
            self.busiest_log,
            self.busiest_leader,
            self.shortest_gap_ms.unwrap_or(0),
            self.real_seconds,
        )
    }
}
