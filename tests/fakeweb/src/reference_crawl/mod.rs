//! A naive crawl of the served web, written apart from what generates it, to verify the manifest.
//!
//! It shares no code with `web`: its own link finder, robots matcher and canonical form.
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub(crate) mod client;
mod html;
mod robots;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use crate::{
    CheckOptions, CrawlOutcome, FakeWeb, FakeWebOptions, Manifest, ManifestEntry, Outcome, check,
    compare_outcomes,
};
use client::{Fetched, fetch};
use robots::Robots;

/// What the crawl finds out of one URL, in the manifest's form.
type Findings = BTreeMap<String, ManifestEntry>;

/// URLs fetched at once.
const AT_ONCE: usize = 48;

async fn crawl(addr: SocketAddr, seed_url: &str) -> (Findings, BTreeMap<String, Robots>) {
    let mut findings = Findings::new();
    let mut robots: BTreeMap<String, Robots> = BTreeMap::new();
    let mut known: BTreeSet<String> = [seed_url.to_owned()].into();
    let mut level: Vec<String> = known.iter().cloned().collect();
    while !level.is_empty() {
        let hosts: BTreeSet<String> = level.iter().map(|url| html::host_of(url)).collect();
        let new_hosts = hosts
            .into_iter()
            .filter(|host| !robots.contains_key(host))
            .collect();
        robots.extend(
            gather(new_hosts, move |host| async move {
                let found = robots::fetch_robots(addr, &host).await;
                (host, found)
            })
            .await,
        );
        let asked: Vec<(String, Option<Outcome>)> = level
            .into_iter()
            .map(|url| {
                let refused = robots[&html::host_of(&url)].refuses(&url);
                (url, refused)
            })
            .collect();
        let seen = gather(asked, move |(url, refused)| async move {
            match refused {
                Some(outcome) => (blank(&url, outcome), Vec::new()),
                None => visit(addr, &url).await,
            }
        })
        .await;
        level = Vec::new();
        for (entry, links) in seen {
            findings.insert(entry.url.clone(), entry);
            level.extend(links.into_iter().filter(|link| known.insert(link.clone())));
        }
    }
    (findings, robots)
}

/// Runs `work` on each item, a bounded number at once.
async fn gather<I, O, F, Fut>(items: Vec<I>, work: F) -> Vec<O>
where
    O: Send + 'static,
    F: Fn(I) -> Fut,
    Fut: Future<Output = O> + Send + 'static,
{
    let mut running = JoinSet::new();
    let mut done = Vec::new();
    for item in items {
        if running.len() >= AT_ONCE {
            done.push(running.join_next().await.unwrap().unwrap());
        }
        running.spawn(work(item));
    }
    while let Some(output) = running.join_next().await {
        done.push(output.unwrap());
    }
    done
}

fn blank(url: &str, outcome: Outcome) -> ManifestEntry {
    ManifestEntry {
        url: url.to_owned(),
        outcome,
        status: None,
        digest: None,
        host: html::host_of(url),
        links: None,
        target: None,
        retries: 0,
        retry_after_ms: 0,
        host_facts: None,
    }
}

/// Fetches one URL until it answers finally; gives what it is and where it leads.
async fn visit(addr: SocketAddr, url: &str) -> (ManifestEntry, Vec<String>) {
    let mut entry = blank(url, Outcome::Fetched);
    let mut fetched = fetch(addr, url, &[]).await;
    while let (503, Some(seconds)) = (fetched.status, fetched.header("retry-after")) {
        entry.retry_after_ms = seconds.parse::<u32>().unwrap() * 1000;
        entry.retries += 1;
        assert!(entry.retries < 10, "{url}");
        fetched = fetch(addr, url, &[]).await;
    }
    entry.status = Some(fetched.status);
    let links = understand(&mut entry, &fetched, url);
    (entry, links)
}

fn understand(entry: &mut ManifestEntry, fetched: &Fetched, url: &str) -> Vec<String> {
    entry.outcome = match fetched.status {
        200 if !fetched.whole => Outcome::Truncated,
        200 => Outcome::Fetched,
        301 | 302 | 303 | 307 | 308 => Outcome::Redirect,
        404 => Outcome::NotFound,
        410 => Outcome::Gone,
        _ => Outcome::ServerError,
    };
    if entry.outcome == Outcome::Redirect {
        entry.target = html::canonical(url, &fetched.header("location").unwrap());
        return entry.target.iter().cloned().collect();
    }
    if entry.outcome != Outcome::Fetched {
        return Vec::new();
    }
    entry.digest = Some(hex::encode(Sha256::digest(&fetched.body)));
    let content_type = fetched.header("content-type").unwrap();
    if !content_type.starts_with("text/html") || fetched.body.is_empty() {
        return Vec::new();
    }
    let links = html::links(url, &content_type, &fetched.body);
    entry.links = Some(links.len() as u32);
    links.into_iter().collect()
}

/// Serves a web, crawls it, and compares everything with the manifest.
async fn verify(mut options: FakeWebOptions) -> Manifest {
    options.shape.slow_min_ms = 1;
    options.shape.slow_max_ms = 3;
    let web = FakeWeb::start(options.clone()).unwrap();
    let (findings, robots) = crawl(web.addr, &web.seed_url).await;
    let manifest = Manifest::of(&options).unwrap();
    for (url, expected) in &manifest.entries {
        let found = findings
            .get(url)
            .unwrap_or_else(|| panic!("not reached: {expected:?}"));
        assert_eq!(
            &ManifestEntry {
                host_facts: None,
                ..expected.clone()
            },
            found
        );
    }
    let strangers: Vec<&String> = findings
        .keys()
        .filter(|url| !manifest.entries.contains_key(*url))
        .collect();
    assert!(strangers.is_empty(), "not in the manifest: {strangers:?}");
    for (host, facts) in &manifest.hosts {
        assert_eq!(facts.robots_urls, robots[host].urls, "{host}");
        assert_eq!(facts.crawl_delay_ms, robots[host].crawl_delay_ms, "{host}");
    }
    let said = findings.into_values().map(|entry| CrawlOutcome {
        url: entry.url,
        outcome: entry.outcome,
        digest: entry.digest,
    });
    assert!(compare_outcomes(said, &manifest).is_clean());
    // This crawl waits for nobody, so only the rest of the report is clean.
    let report = check(
        web.arrivals(),
        &manifest,
        &CheckOptions {
            min_delay_ms: 0,
            ..CheckOptions::default()
        },
    );
    let totals = &report.totals;
    assert_eq!(
        (totals.missing, totals.unexpected, totals.repeats),
        (0, 0, 0),
        "{report}"
    );
    assert_eq!(totals.arrivals, web.requests());
    web.shutdown().unwrap();
    manifest
}

#[tokio::test]
async fn what_is_served_is_what_the_manifest_says() {
    for seed in [1, 2, 3, 42, u64::MAX] {
        let manifest = verify(FakeWebOptions::new(200, seed)).await;
        assert!(
            manifest.entries.len() > 800,
            "seed {seed}: {}",
            manifest.entries.len()
        );
    }
}

#[tokio::test]
async fn every_outcome_occurs() {
    let manifest = Manifest::of(&FakeWebOptions::new(200, 1)).unwrap();
    for outcome in [
        Outcome::Fetched,
        Outcome::Truncated,
        Outcome::Redirect,
        Outcome::NotFound,
        Outcome::Gone,
        Outcome::ServerError,
        Outcome::Disallowed,
        Outcome::UnreachableRobots,
    ] {
        assert!(
            manifest
                .entries
                .values()
                .any(|entry| entry.outcome == outcome),
            "{outcome:?}"
        );
    }
    assert!(manifest.entries.values().any(|entry| entry.retries > 0));
    assert!(
        manifest
            .hosts
            .values()
            .any(|facts| facts.crawl_delay_ms > 1000)
    );
    assert!(manifest.hosts.values().any(|facts| facts.slow_ms > 0));
}

#[tokio::test]
async fn hosts_in_levels_are_all_reached() {
    let mut options = FakeWebOptions::new(700, 5);
    options.shape.fan_out = 3;
    options.shape.mean_pages = 2;
    let manifest = verify(options).await;
    assert_eq!(manifest.hosts.len(), 700);
}

#[tokio::test]
async fn the_tree_of_links_alone_reaches_everything() {
    let mut options = FakeWebOptions::new(500, 6);
    options.shape.fan_out = 2;
    options.shape.links_per_page = 0;
    options.features.redirects = false;
    let manifest = verify(options).await;
    assert_eq!(manifest.hosts.len(), 500);
    assert!(
        manifest
            .hosts
            .values()
            .any(|facts| facts.robots_unreachable)
    );
}

#[tokio::test]
async fn smallest_and_plainest_webs_hold_too() {
    let manifest = verify(FakeWebOptions::new(1, 9)).await;
    assert_eq!(manifest.hosts.len(), 1);
    let mut plain = FakeWebOptions::new(40, 9);
    plain.features = crate::Features::none();
    plain.shape.links_per_page = 62;
    let manifest = verify(plain).await;
    assert!(
        manifest
            .entries
            .values()
            .all(|entry| entry.outcome == Outcome::Fetched)
    );
    let mut large = FakeWebOptions::new(6, 9);
    large.shape.mean_pages = 200;
    large.shape.max_pages_per_host = 400;
    verify(large).await;
}
