//! The summary of a crawl: what all runs on its directory did, and why this one ended.

use super::end::End;
use page_store::StoreStats;
use proto::frontier_v1::ShardStatusResponse;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// One summary object. Counts are of all runs on the directory together; `seconds` is of this run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Pages stored.
    pub pages: u64,
    /// Their payload bytes, duplicates once.
    pub bytes: u64,
    /// Different payloads kept.
    pub stored: u64,
    /// Pages whose payload was there already.
    pub duplicates: u64,
    /// Hosts with at least one URL.
    pub hosts: u64,
    /// Attempts without a usable answer, by kind.
    pub errors: BTreeMap<String, u64>,
    /// URLs that were refused or ended without an answer, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Redirects followed up.
    pub redirects: u64,
    /// URLs accepted.
    pub accepted: u64,
    /// URLs that wait: queued or scheduled.
    pub waiting: u64,
    /// Leases that were out when the run ended.
    pub leased: u64,
    /// Whether accepted = queued + scheduled + leased + done + removed + refused at the end.
    pub conserved: bool,
    /// Why the run ended.
    pub end: &'static str,
    /// Wall time of this run.
    pub seconds: f64,
}

/// Reason of requests, for pages and robots files, that the rule for addresses forbade.
pub const PRIVATE_ADDRESS: &str = "private_address";

/// Counters that are errors of attempts.
const ERRORS: &[(&str, &str)] = &[
    ("pages_http_error", "http_error"),
    ("pages_http_busy", "http_busy"),
    ("pages_network_error", "network_error"),
    ("pages_dns_not_found", "dns_not_found"),
    ("leases_expired", "lease_expired"),
    ("robots_unreachable", "robots_unreachable"),
];

/// Counters that are ends without an answer.
const REFUSED: &[(&str, &str)] = &[
    ("pages_disallowed", "disallowed"),
    ("pages_refused", "refused"),
    ("ended_unfetchable", "unfetchable"),
    ("ended_robots_unreachable", "robots_unreachable"),
];

impl Summary {
    /// Of the shards' counters and the store's.
    pub fn of(
        shards: &[ShardStatusResponse],
        store: &StoreStats,
        end: End,
        took: Duration,
    ) -> Self {
        let count = |name: &str| {
            shards
                .iter()
                .filter_map(|shard| shard.counters.get(name))
                .sum::<u64>()
        };
        let named = |names: &[(&str, &str)]| -> BTreeMap<String, u64> {
            let counted = names
                .iter()
                .map(|(counter, name)| ((*name).to_owned(), count(counter)));
            counted.filter(|(_, value)| *value > 0).collect()
        };
        let mut refused = named(REFUSED);
        for (name, value) in shards.iter().flat_map(|shard| &shard.counters) {
            if let Some(reason) = name.strip_prefix("discover_refused_")
                && *value > 0
            {
                *refused.entry(reason.to_owned()).or_default() += value;
            }
        }
        let terms = || shards.iter().filter_map(|shard| shard.terms.as_ref());
        Self {
            pages: count("pages_stored"),
            bytes: store.payload_bytes,
            stored: store.payloads,
            duplicates: store.duplicates,
            hosts: count("hosts_created"),
            errors: named(ERRORS),
            refused,
            redirects: count("pages_redirect"),
            accepted: terms().map(|t| t.accepted).sum(),
            waiting: terms().map(|t| t.queued + t.scheduled).sum(),
            leased: terms().map(|t| t.leased).sum(),
            conserved: terms().all(conserved),
            end: end.name(),
            seconds: (took.as_secs_f64() * 1_000.0).round() / 1_000.0,
        }
    }

    /// Counts something of this run that was refused before it came to the frontier.
    pub fn refuse(&mut self, reason: &str, count: u64) {
        if count > 0 {
            *self.refused.entry(reason.to_owned()).or_default() += count;
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let list = |map: &BTreeMap<String, u64>| {
            let parts: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            if parts.is_empty() {
                "none".to_owned()
            } else {
                parts.join(", ")
            }
        };
        let advice = if self.refused.contains_key(PRIVATE_ADDRESS) {
            " (private and special addresses are contacted only if --allow-net CIDR names them)"
        } else {
            ""
        };
        format!(
            "{} pages from {} hosts in {:.1} s ({}): {} payloads of {} bytes kept, {} duplicates, {} redirects\n\
             errors: {}\nrefused: {}{advice}\n{} URLs accepted, {} wait, {} leased; conservation {}",
            self.pages,
            self.hosts,
            self.seconds,
            self.end,
            self.stored,
            self.bytes,
            self.duplicates,
            self.redirects,
            list(&self.errors),
            list(&self.refused),
            self.accepted,
            self.waiting,
            self.leased,
            if self.conserved { "holds" } else { "IS BROKEN" },
        )
    }
}

/// The conservation equation of one shard (promise P2).
pub fn conserved(terms: &proto::frontier_v1::ConservationTerms) -> bool {
    terms.accepted
        == terms.queued
            + terms.scheduled
            + terms.leased
            + terms.done
            + terms.removed
            + terms.refused
}
