//! Counters in the OpenMetrics text format, as the nodes have it. Nothing is labelled by host or URL.

use std::fmt::{Display, Write};
use std::sync::Arc;

use client::{MethodTraffic, Router, Traffic};
use page_service::{ClusterMetrics, ClusterStore};

use crate::fetcher::Gauges;
use crate::metrics::Metrics;

/// Every name begins with it.
const PREFIX: &str = "escapement_fetcher";

/// Where the figures come from.
pub(super) struct Sources {
    pub(super) metrics: Arc<Metrics>,
    pub(super) router: Arc<Router>,
    pub(super) gauges: Gauges,
    pub(super) stores: ClusterStore,
}

impl Sources {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        let mut text = Text::default();
        fetching(&mut text, &self.metrics);
        coordination(&mut text, &self.router.traffic(), pages(&self.metrics));
        self.state(&mut text);
        stores(&mut text, &self.stores.metrics());
        text.end()
    }

    fn state(&self, text: &mut Text) {
        let (gauges, states) = (&self.gauges, self.stores.stores());
        let away = states.iter().filter(|store| store.reason.is_some()).count();
        text.gauge(
            "held_slots",
            "Slots for open fetches that are taken.",
            gauges.held_slots(),
        );
        text.gauge(
            "pending_ends",
            "Ends of leases that are on their way to the frontier.",
            gauges.pending_ends(),
        );
        text.gauge(
            "leasing_paused",
            "1 while nothing is leased because too few page stores can write.",
            u8::from(gauges.is_paused()),
        );
        text.gauge(
            "frontier_processes",
            "Nodes that are known.",
            self.router.addresses().len(),
        );
        text.gauge("stores", "Page stores that are known.", states.len());
        text.gauge(
            "stores_away",
            "Of these: those that get no pages now.",
            away,
        );
    }
}

fn fetching(text: &mut Text, metrics: &Metrics) {
    for ((name, value), help) in metrics.snapshot().into_iter().zip(Metrics::help()) {
        text.counter(name, help.trim(), value);
    }
    let help = "Pages that came to an end, by code and reason.";
    text.family("page_outcomes", help, "counter");
    for (code, reason, value) in metrics.page_reasons() {
        let labels = [("code", code.as_str_name()), ("reason", reason.as_str())];
        text.sample("page_outcomes_total", &labels, value);
    }
}

/// What talking to the frontier costs, all in all and for each page that came to an end.
fn coordination(text: &mut Text, traffic: &Traffic, pages: u64) {
    let methods = traffic.methods();
    type Read = fn(&MethodTraffic) -> u64;
    let families: [(&str, &str, Read); 4] = [
        ("rpcs", "Calls to nodes, repeats included.", |of| of.calls),
        (
            "rpcs_failed",
            "Of these: ended with an error, or were given up.",
            |of| of.failed,
        ),
        ("rpc_sent_bytes", "Encoded bytes of requests.", |of| {
            of.sent_bytes
        }),
        ("rpc_received_bytes", "Encoded bytes of answers.", |of| {
            of.received_bytes
        }),
    ];
    for (name, help, read) in families {
        text.family(name, help, "counter");
        for (method, counts) in &methods {
            let labels = [("method", *method)];
            text.sample(&format!("{name}_total"), &labels, read(counts));
        }
    }
    let total = traffic.total();
    let per_page = |value: u64| value as f64 / pages.max(1) as f64;
    text.gauge(
        "rpcs_per_page",
        "Calls for each page that came to an end.",
        per_page(total.calls),
    );
    text.gauge(
        "rpc_bytes_per_page",
        "Bytes of calls, both ways, for each page that came to an end.",
        per_page(total.sent_bytes + total.received_bytes),
    );
    let counters = [
        (
            "leader_losses",
            "How often a shard's leader was looked for anew.",
            traffic.leader_losses(),
        ),
        (
            "dead_shards",
            "How often a shard was given up for a while because nobody led it.",
            traffic.dead_shards(),
        ),
        (
            "map_reads",
            "How often the shard map was read.",
            traffic.map_reads(),
        ),
    ];
    for (name, help, value) in counters {
        text.counter(name, help, value);
    }
}

/// Pages that came to an end, whatever it was.
fn pages(metrics: &Metrics) -> u64 {
    let outcomes = metrics.page_reasons();
    outcomes.iter().map(|(_, _, count)| count).sum()
}

fn stores(text: &mut Text, metrics: &ClusterMetrics) {
    let counters = [
        ("puts", "Pages put, whatever became of them.", metrics.puts),
        ("copies", "Copies that became durable.", metrics.copies),
        (
            "sent_payload_bytes",
            "Payload bytes sent: a copy whose bytes were known cost none.",
            metrics.sent_payload_bytes,
        ),
        (
            "failed_copies",
            "Puts to one store that failed, so that another one got the page.",
            metrics.failed_copies,
        ),
        (
            "unavailable",
            "Pages that fewer stores than copies took.",
            metrics.unavailable,
        ),
        (
            "probes",
            "Stores asked whether they are back.",
            metrics.probes,
        ),
    ];
    for (name, help, value) in counters {
        text.counter(&format!("store_{name}"), help, value);
    }
}

/// A text that grows by lines.
#[derive(Default)]
struct Text(String);

impl Text {
    // Writing to a string does not fail.
    fn family(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {PREFIX}_{name} {}", escaped(help));
        let _ = writeln!(self.0, "# TYPE {PREFIX}_{name} {kind}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help, "counter");
        self.sample(&format!("{name}_total"), &[], value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, help, "gauge");
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "{PREFIX}_{name}");
        for (index, (label, of)) in labels.iter().enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{opening}{label}=\"{}\"", escaped(of));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn end(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// A label's value or a help text as the format wants it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::frontier_v1 as pb;

    #[test]
    fn counters_and_labels_have_their_form() {
        let metrics = Metrics::default();
        metrics.leases.add(3);
        let page = |code: pb::page_outcome::Code, reason: &str| pb::PageOutcome {
            code: code.into(),
            reason: reason.to_owned(),
            ..Default::default()
        };
        metrics.count_page(&page(pb::page_outcome::Code::Stored, ""));
        metrics.count_page(&page(pb::page_outcome::Code::HttpError, "http_\"404\"\n"));
        let mut text = Text::default();
        fetching(&mut text, &metrics);
        let lines: Vec<&str> = text.0.lines().collect();
        for line in [
            "# HELP escapement_fetcher_leases Leases received.",
            "# TYPE escapement_fetcher_leases counter",
            "escapement_fetcher_leases_total 3",
            "escapement_fetcher_stored_total 1",
            "escapement_fetcher_page_outcomes_total{code=\"STORED\",reason=\"\"} 1",
            "escapement_fetcher_page_outcomes_total{code=\"HTTP_ERROR\",reason=\"http_\\\"404\\\"\\n\"} 1",
        ] {
            assert!(lines.contains(&line), "{line} in {lines:#?}");
        }
        assert_eq!(pages(&metrics), 2);
    }

    #[test]
    fn every_family_has_its_help_and_type_and_the_text_its_end() {
        let mut text = Text::default();
        fetching(&mut text, &Metrics::default());
        coordination(&mut text, &Traffic::default(), 0);
        stores(&mut text, &ClusterMetrics::default());
        let text = text.end();
        let starting = |with: &str| text.lines().filter(|line| line.starts_with(with)).count();
        assert!(starting("# HELP ") > 30 && starting("# HELP ") == starting("# TYPE "));
        assert!(text.ends_with("\n# EOF\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split([' ', '{']).next().unwrap_or_default();
            let counted = name.strip_suffix("_total");
            let family = format!(
                "# TYPE {} {}\n",
                counted.unwrap_or(name),
                if counted.is_some() {
                    "counter"
                } else {
                    "gauge"
                }
            );
            assert!(text.contains(&family), "{line}");
        }
    }
}
