//! Counters of a node, for each promise that can be counted. Never labelled by host or URL.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use client::CallError;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use proto::frontier_v1 as pb;
use raftlog::EngineMetrics;

/// One label and its value.
pub(crate) type Label = [(&'static str, String); 1];
type Two = [(&'static str, String); 2];

/// The node's registry and its counters.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// Which figures of which shards are shown.
    shown: Mutex<BTreeSet<(u64, &'static str)>>,
    calls: Family<Two, Counter>,
    discover_items: Family<Label, Counter>,
    refused_items: Family<Label, Counter>,
    pub(crate) known_dropped: Counter,
    filter_checks: Family<Label, Counter>,
    leases: Counter,
    repeated_calls: Counter,
    pub(crate) empty_polls: Counter,
    reports: Family<Label, Counter>,
    pub(crate) released: Counter,
    pub(crate) undelivered_refused: Counter,
    entries: Counter,
    commands: Counter,
    entry_bytes: Counter,
    pub(crate) ticks: Counter,
    pub(crate) overloads: Counter,
    pub(crate) elections: Counter,
    pub(crate) outbox_delivered: Counter,
    pub(crate) outbox_deferred: Counter,
    /// Of shards, by name and shard; set when they are read.
    shards: Family<Two, Gauge>,
    /// What shards count, by name and shard; set when they are read.
    shard_events: Family<Two, Counter>,
    log: Family<Label, Counter>,
    node: Family<Label, Gauge>,
    node_events: Family<Label, Counter>,
}

macro_rules! registered {
    ($registry:ident, $(($metric:ident, $name:literal, $help:literal)),* $(,)?) => {
        $($registry.register($name, $help, $metric.clone());)*
    };
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("escapement");
        let (calls, discover_items, refused_items) =
            (Family::default(), Family::default(), Family::default());
        let (known_dropped, filter_checks, leases) =
            (Counter::default(), Family::default(), Counter::default());
        let (repeated_calls, empty_polls, reports) =
            (Counter::default(), Counter::default(), Family::default());
        let (released, undelivered_refused) = (Counter::default(), Counter::default());
        let (entries, commands, entry_bytes) =
            (Counter::default(), Counter::default(), Counter::default());
        let (ticks, overloads, elections) =
            (Counter::default(), Counter::default(), Counter::default());
        let (outbox_delivered, outbox_deferred) = (Counter::default(), Counter::default());
        let (shards, shard_events) = (Family::default(), Family::default());
        let (log, node, node_events) = (Family::default(), Family::default(), Family::default());
        registered!(
            registry,
            (calls, "frontier_calls", "Calls by name and how they ended"),
            (
                discover_items,
                "discover_items",
                "Offered items by their answer"
            ),
            (refused_items, "refused_items", "Refused items by reason"),
            (
                known_dropped,
                "known_dropped",
                "Known URLs dropped before the log"
            ),
            (
                filter_checks,
                "filter_checks",
                "Looks at the filter of known URLs by how they ended"
            ),
            (
                leases,
                "leases_granted",
                "Leases handed out, repeats included"
            ),
            (
                repeated_calls,
                "lease_calls_repeated",
                "Lease calls that got an earlier answer again"
            ),
            (
                empty_polls,
                "lease_polls_empty",
                "Lease calls that waited in vain and cost no entry"
            ),
            (reports, "reports", "Reports by their answer"),
            (released, "releases", "Leases given back unstarted"),
            (
                undelivered_refused,
                "undelivered_refused",
                "Undelivered items of reports that were refused for good"
            ),
            (entries, "entries_proposed", "Entries submitted to the log"),
            (commands, "commands_proposed", "Commands in those entries"),
            (
                entry_bytes,
                "entry_bytes_proposed",
                "Bytes of those entries"
            ),
            (
                ticks,
                "ticks",
                "Empty entries submitted because something was due"
            ),
            (
                overloads,
                "overloads",
                "Calls refused because too much waited"
            ),
            (
                elections,
                "elections_won",
                "Leaderships that this node took up"
            ),
            (
                outbox_delivered,
                "outbox_delivered",
                "Outbox rows that reached their owner"
            ),
            (
                outbox_deferred,
                "outbox_deferred",
                "Deliveries put off because an owner did not answer"
            ),
            (shards, "shard", "State of each shard by name"),
            (
                shard_events,
                "shard_events",
                "What each shard has counted since its creation, by name"
            ),
            (
                log,
                "log",
                "What the replicated log has counted since the start, by name"
            ),
            (node, "node", "State of the node by name"),
            (
                node_events,
                "node_events",
                "What links and page store have counted, by name"
            ),
        );
        Self {
            registry: Mutex::new(registry),
            shown: Mutex::default(),
            calls,
            discover_items,
            refused_items,
            known_dropped,
            filter_checks,
            leases,
            repeated_calls,
            empty_polls,
            reports,
            released,
            undelivered_refused,
            entries,
            commands,
            entry_bytes,
            ticks,
            overloads,
            elections,
            outbox_delivered,
            outbox_deferred,
            shards,
            shard_events,
            log,
            node,
            node_events,
        }
    }
}

fn label(name: &'static str, value: &str) -> Label {
    [(name, value.to_owned())]
}

impl Metrics {
    /// All metrics in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry.lock());
        text
    }

    /// A call ended.
    pub(crate) fn call(&self, call: &'static str, error: Option<&CallError>) {
        let end = match error {
            None => "ok",
            Some(CallError::NotLeader { .. }) => "not_leader",
            Some(CallError::WrongShard { .. }) => "wrong_shard",
            Some(CallError::NotHere { .. }) => "not_here",
            Some(CallError::OverLimit { .. }) => "over_limit",
            Some(CallError::StaleCall { .. }) => "stale_call",
            Some(CallError::Invalid { .. }) => "invalid",
            Some(CallError::Unavailable { .. }) => "unavailable",
        };
        self.calls
            .get_or_create(&[("call", call.to_owned()), ("end", end.to_owned())])
            .inc();
    }

    pub(crate) fn discovered(&self, results: &[pb::DiscoverResult]) {
        use pb::discover_result::Code;
        let mut counts = [0; 5];
        for result in results {
            let place = match result.code() {
                Code::New => 0,
                Code::Known => 1,
                Code::Refused => 2,
                Code::WrongShard | Code::Unspecified => 3,
                Code::Moved => 4,
            };
            counts[place] += 1;
            if place == 2 {
                self.refused_items
                    .get_or_create(&label("reason", &result.reason))
                    .inc();
            }
        }
        for (name, count) in ["new", "known", "refused", "wrong_shard", "moved"]
            .into_iter()
            .zip(counts)
        {
            self.discover_items
                .get_or_create(&label("answer", name))
                .inc_by(count);
        }
    }

    /// So many keys were looked up; so many went on to RocksDB, of which so many had no row.
    pub(crate) fn filter(&self, keys: usize, asked: usize, absent: usize, valid: bool) {
        let add = |end, count: usize| {
            self.filter_checks
                .get_or_create(&label("end", end))
                .inc_by(count as u64);
        };
        add("absent", keys - asked);
        add("read", asked);
        if valid {
            add("false_positive", absent);
        }
    }

    pub(crate) fn leased(&self, leases: usize, repeated: bool) {
        self.leases.inc_by(leases as u64);
        self.repeated_calls.inc_by(u64::from(repeated));
    }

    pub(crate) fn reported(&self, results: &[pb::ReportResult]) {
        use pb::report_result::Code;
        for result in results {
            let name = match result.code() {
                Code::Closed => "closed",
                Code::LeaseLost => "lease_lost",
                Code::WrongShard => "wrong_shard",
                Code::Requeued => "requeued",
                Code::Invalid | Code::Unspecified => "invalid",
            };
            self.reports.get_or_create(&label("answer", name)).inc();
        }
    }

    pub(crate) fn entry(&self, commands: usize, size_bytes: usize) {
        self.entries.inc();
        self.commands.inc_by(commands as u64);
        self.entry_bytes.inc_by(size_bytes as u64);
    }

    /// Sets one figure of a shard.
    pub(crate) fn shard(&self, shard: u64, name: &'static str, value: u64) {
        self.shown.lock().insert((shard, name));
        let labels = [("shard", shard.to_string()), ("what", name.to_owned())];
        self.shards
            .get_or_create(&labels)
            .set(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Shows a figure of a shard no longer: only its leader knows it.
    pub(crate) fn forget_shard(&self, shard: u64, name: &'static str) {
        self.shards
            .remove(&[("shard", shard.to_string()), ("what", name.to_owned())]);
    }

    /// Shows nothing any more of shards that are not here: another node counts on.
    pub(crate) fn keep_shards(&self, here: &[u64]) {
        self.shown.lock().retain(|(shard, name)| {
            let is_here = here.contains(shard);
            if !is_here {
                let labels = [("shard", shard.to_string()), ("what", (*name).to_owned())];
                self.shards.remove(&labels);
                self.shard_events.remove(&labels);
            }
            is_here
        });
    }

    /// Sets one counter of a shard.
    pub(crate) fn shard_event(&self, shard: u64, name: &'static str, count: u64) {
        self.shown.lock().insert((shard, name));
        let labels = [("shard", shard.to_string()), ("what", name.to_owned())];
        set(&self.shard_events.get_or_create(&labels), count);
    }

    /// Sets one counter of what runs beside the frontier.
    pub(crate) fn node_event(&self, name: &'static str, count: u64) {
        set(&self.node_events.get_or_create(&label("what", name)), count);
    }

    /// Sets one figure of the node.
    pub(crate) fn node(&self, name: &'static str, value: u64) {
        self.node
            .get_or_create(&label("what", name))
            .set(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Sets the log's figures.
    pub(crate) fn log(&self, engine: &EngineMetrics) {
        let figures = [
            ("fsyncs", engine.fsyncs),
            ("entries", engine.entries),
            ("entry_bytes", engine.entry_bytes),
            ("appends", engine.appends),
            ("applied_entries", engine.applied_entries),
            ("state_batches", engine.state_batches),
            ("state_bytes", engine.state_bytes),
            ("flushes", engine.flushes),
            ("purged_entries", engine.purged_entries),
            ("read_rounds", engine.read_rounds),
            ("reads_confirmed", engine.reads_confirmed),
            ("snapshots_sent", engine.snapshots_sent),
            ("snapshots_installed", engine.snapshots_installed),
            ("disk_failures", engine.disk_failures),
            ("disk_recoveries", engine.disk_recoveries),
        ];
        for (name, value) in figures {
            set(&self.log.get_or_create(&label("what", name)), value);
        }
        self.node("snapshot_out_peak_bytes", engine.snapshot_out_peak_bytes);
        self.node("snapshot_in_peak_bytes", engine.snapshot_in_peak_bytes);
    }
}

/// Others count; here it is only shown.
fn set(counter: &Counter, count: u64) {
    counter.inner().store(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_appear_by_name_and_never_by_host() {
        let metrics = Metrics::default();
        metrics.call("lease", Some(&CallError::StaleCall { newest_number: 1 }));
        let refused = pb::discover_result::Code::Refused.into();
        metrics.discovered(&[pb::DiscoverResult {
            code: refused,
            reason: "depth".into(),
            ..pb::DiscoverResult::default()
        }]);
        metrics.filter(10, 3, 1, true);
        let text = metrics.text();
        assert!(
            text.contains("escapement_frontier_calls_total{call=\"lease\",end=\"stale_call\"} 1"),
            "{text}"
        );
        assert!(text.contains("escapement_refused_items_total{reason=\"depth\"} 1"));
        assert!(text.contains("escapement_filter_checks_total{end=\"absent\"} 7"));
        assert!(!text.contains("host="));
    }

    #[test]
    fn what_only_grows_is_a_counter_and_every_family_has_its_help() {
        let metrics = Metrics::default();
        metrics.shard(3, "voters", 2);
        metrics.shard_event(3, "leases_expired", 7);
        metrics.node_event("raft_dials", 5);
        metrics.log(&EngineMetrics::default());
        metrics.shard(3, "slowest_voter_lag_entries", 9);
        metrics.forget_shard(3, "slowest_voter_lag_entries");
        let text = metrics.text();
        assert!(!text.contains("slowest_voter_lag_entries"));
        metrics.keep_shards(&[3]);
        assert_eq!(metrics.text(), text);
        for line in [
            "# TYPE escapement_shard gauge",
            "escapement_shard{shard=\"3\",what=\"voters\"} 2",
            "# TYPE escapement_shard_events counter",
            "escapement_shard_events_total{shard=\"3\",what=\"leases_expired\"} 7",
            "# TYPE escapement_log counter",
            "escapement_log_total{what=\"fsyncs\"} 0",
            "escapement_node_events_total{what=\"raft_dials\"} 5",
            "escapement_node{what=\"snapshot_in_peak_bytes\"} 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        metrics.keep_shards(&[4]);
        assert!(!metrics.text().contains("shard=\"3\""));
        let starting = |with: &str| text.lines().filter(|line| line.starts_with(with)).count();
        assert_eq!(starting("# HELP "), starting("# TYPE "));
    }
}
