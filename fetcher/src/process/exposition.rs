//! Counters as Prometheus text (exposition format 0.0.4). Nothing is labelled by host or URL.

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
        text.gauge("held_slots", self.gauges.held_slots());
        text.gauge("pending_ends", self.gauges.pending_ends());
        text.gauge("leasing_paused", u8::from(self.gauges.is_paused()));
        text.gauge("frontier_processes", self.router.addresses().len());
        let states = self.stores.stores();
        text.gauge("stores", states.len());
        let away = states.iter().filter(|store| store.reason.is_some()).count();
        text.gauge("stores_away", away);
        stores(&mut text, &self.stores.metrics());
        text.0
    }
}

fn fetching(text: &mut Text, metrics: &Metrics) {
    for (name, value) in metrics.snapshot() {
        text.counter(&format!("{name}_total"), value);
    }
    text.family("page_outcomes_total", "counter");
    for (code, reason, value) in metrics.page_reasons() {
        let labels = [("code", code.as_str_name()), ("reason", reason.as_str())];
        text.sample("page_outcomes_total", &labels, value);
    }
}

/// What talking to the frontier costs, all in all and for each page that came to an end.
fn coordination(text: &mut Text, traffic: &Traffic, pages: u64) {
    let methods = traffic.methods();
    type Read = fn(&MethodTraffic) -> u64;
    let families: [(&str, Read); 4] = [
        ("rpcs_total", |of| of.calls),
        ("rpcs_failed_total", |of| of.failed),
        ("rpc_sent_bytes_total", |of| of.sent_bytes),
        ("rpc_received_bytes_total", |of| of.received_bytes),
    ];
    for (name, read) in families {
        text.family(name, "counter");
        for (method, counts) in &methods {
            text.sample(name, &[("method", method)], read(counts));
        }
    }
    let total = traffic.total();
    let per_page = |value: u64| value as f64 / pages.max(1) as f64;
    text.gauge("rpcs_per_page", per_page(total.calls));
    text.gauge(
        "rpc_bytes_per_page",
        per_page(total.sent_bytes + total.received_bytes),
    );
    text.counter("leader_losses_total", traffic.leader_losses());
    text.counter("dead_shards_total", traffic.dead_shards());
    text.counter("map_reads_total", traffic.map_reads());
}

/// Pages that came to an end, whatever it was.
fn pages(metrics: &Metrics) -> u64 {
    let outcomes = metrics.page_reasons();
    outcomes.iter().map(|(_, _, count)| count).sum()
}

fn stores(text: &mut Text, metrics: &ClusterMetrics) {
    let counters = [
        ("puts", metrics.puts),
        ("copies", metrics.copies),
        ("sent_payload_bytes", metrics.sent_payload_bytes),
        ("failed_copies", metrics.failed_copies),
        ("unavailable", metrics.unavailable),
        ("probes", metrics.probes),
    ];
    for (name, value) in counters {
        text.counter(&format!("store_{name}_total"), value);
    }
}

/// A text that grows by lines.
#[derive(Default)]
struct Text(String);

impl Text {
    // Writing to a string does not fail.
    fn family(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.0, "# TYPE {PREFIX}_{name} {kind}");
    }

    fn counter(&mut self, name: &str, value: u64) {
        self.family(name, "counter");
        self.sample(name, &[], value);
    }

    fn gauge(&mut self, name: &str, value: impl Display) {
        self.family(name, "gauge");
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
}

/// A label's value as the format wants it.
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
            "# TYPE escapement_fetcher_leases_total counter",
            "escapement_fetcher_leases_total 3",
            "escapement_fetcher_stored_total 1",
            "escapement_fetcher_page_outcomes_total{code=\"STORED\",reason=\"\"} 1",
            "escapement_fetcher_page_outcomes_total{code=\"HTTP_ERROR\",reason=\"http_\\\"404\\\"\\n\"} 1",
        ] {
            assert!(lines.contains(&line), "{line} in {lines:#?}");
        }
        assert_eq!(pages(&metrics), 2);
    }
}
