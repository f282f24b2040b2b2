//! The checker against logs that are right, and against each way to be wrong.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod coverage;
mod pace;
mod reports;

use std::collections::BTreeMap;

use super::*;
use crate::{FakeWebOptions, Outcome};

const MS: u64 = 1_000_000;

fn manifest() -> Manifest {
    Manifest::of(&FakeWebOptions::new(200, 1)).unwrap()
}

/// Writes the log that a polite crawler leaves, host by host.
struct Polite<'a> {
    manifest: &'a Manifest,
    next_ns: BTreeMap<String, u64>,
    log: Vec<Arrival>,
}

impl Polite<'_> {
    fn ask(&mut self, url: &str, status: u16, wait_ms: u32, not_before_ns: u64) -> u64 {
        let (host, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let next_ns = self.next_ns.entry(host.to_owned()).or_insert(5_000 * MS);
        let t_ns = (*next_ns).max(not_before_ns);
        let delay_ms = self.manifest.hosts[host]
            .crawl_delay_ms
            .max(1000)
            .max(wait_ms);
        *next_ns = t_ns + u64::from(delay_ms) * MS;
        self.log.push(Arrival {
            t_ns,
            host: host.to_owned(),
            path: format!("/{path}"),
            status,
            conn: 1,
        });
        t_ns
    }
}

fn polite(manifest: &Manifest) -> Vec<Arrival> {
    let mut crawler = Polite {
        manifest,
        next_ns: BTreeMap::new(),
        log: Vec::new(),
    };
    let mut known_ns = BTreeMap::new();
    for (host, facts) in &manifest.hosts {
        let mut t_ns = 0;
        for url in &facts.robots_urls {
            t_ns = crawler.ask(url, 200, 0, t_ns + 1);
        }
        known_ns.insert(host.clone(), t_ns);
    }
    for entry in manifest
        .entries
        .values()
        .filter(|entry| !entry.outcome.is_forbidden())
    {
        for _ in 0..entry.retries {
            crawler.ask(
                &entry.url,
                503,
                entry.retry_after_ms,
                known_ns[&entry.host] + 1,
            );
        }
        crawler.ask(
            &entry.url,
            entry.status.unwrap(),
            0,
            known_ns[&entry.host] + 1,
        );
    }
    crawler.log
}

/// Totals as (early, missing, unexpected, repeats).
fn counts(report: &Report) -> (u64, u64, u64, u64) {
    let totals = &report.totals;
    (
        totals.early_contacts,
        totals.missing,
        totals.unexpected,
        totals.repeats,
    )
}

fn judge(log: &[Arrival], manifest: &Manifest) -> Report {
    check(log.to_vec(), manifest, &CheckOptions::default())
}

fn is_page(arrival: &Arrival) -> bool {
    !arrival.path.starts_with("/robots")
}

/// One more request, long after all others.
fn late(log: &[Arrival], url: &str, status: u16) -> Arrival {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let t_ns = log.iter().map(|arrival| arrival.t_ns).max().unwrap() + 60_000 * MS;
    Arrival {
        t_ns,
        host: host.to_owned(),
        path: format!("/{path}"),
        status,
        conn: 9,
    }
}

fn url_with(manifest: &Manifest, wanted: impl Fn(&crate::ManifestEntry) -> bool) -> String {
    manifest
        .entries
        .values()
        .find(|entry| wanted(entry))
        .unwrap()
        .url
        .clone()
}
