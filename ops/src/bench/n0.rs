//! N0: the target rate (a billion pages in 30 days) on one machine, with everything that belongs to it.

use super::bare_loop;
use super::cluster::{BenchCluster, Shape};
use super::judged::Judged;
use super::lease_probe::Prober;
use super::measure::{Meter, cpu_time};
use super::n7;
use super::node::{NodeMetrics, impatient};
use super::outcome::{About, Outcome, ratio, rounded};
use super::urls::CRAWL;
use super::web::{Web, WebShape};
use crate::output::{self, CommandError};
use page_store::StoreOptions;
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "n0",
    what: "pages fetched, stored on two nodes and reported: three nodes, fetchers and a fake web on one machine, each \
           host at most once a second",
    unit: "pages/s",
    floor_is: "a bare loop with the same client over the same web that hashes, compresses and extracts, keeps nothing \
               and waits for nobody",
    reach: "the rate asked for (386 by default, then 772), no early contact",
};

/// Least time between two contacts of a host, ms.
const DELAY_MS: u32 = 1_000;
/// Hosts for each page a second: each gives at most one a second, and not all are ready at any moment.
const HOSTS_A_RATE: f64 = 1.3;
/// Hosts that have more than a root, of all.
const WHOLE_HOSTS: f64 = 11.0 / 12.0;
/// Pages of a host for each that is fetched: about two thirds are linked, and the last minute shall be like the others.
const SPARE_PAGES: f64 = 2.0;
/// How often a lease is asked for beside the crawl.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// Slices of the measured time whose rates are told.
const SLICES: u32 = 10;

/// Arguments of `n0`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Measured time, minutes.
    #[arg(long, default_value_t = 10.0, value_parser = crate::numbers::positive_finite)]
    pub minutes: f64,
    /// Pages a second that should be reached. The crawl is not held back: politeness alone bounds it, by the number of
    /// hosts.
    #[arg(long, default_value_t = 386.0, value_parser = crate::numbers::positive_finite)]
    pub rate: f64,
    /// Time before the measured one, s.
    #[arg(long, default_value_t = 20)]
    pub warm_up_seconds: u64,
    /// Hosts; 0: as many as allow 1.3 times the rate.
    #[arg(long, default_value_t = 0)]
    pub hosts: u32,
    /// Size of a page, bytes.
    #[arg(long, default_value_t = 100_000)]
    pub body_size_bytes: u32,
    /// Links of a page, about.
    #[arg(long, default_value_t = 62)]
    pub links: u32,
    /// Nodes, each with a replica of every shard and a page store.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub replicas: u32,
    /// Shards.
    #[arg(long, default_value_t = 4, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// Fetchers.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub fetchers: u32,
    /// Open fetches of each fetcher.
    #[arg(long, default_value_t = 300, value_parser = crate::numbers::positive::<u32>)]
    pub open: u32,
    /// Measured time of the floor, s.
    #[arg(long, default_value_t = 8, value_parser = crate::numbers::positive::<u64>)]
    pub floor_seconds: u64,
}

impl Args {
    fn web(&self) -> WebShape {
        let hosts = match self.hosts {
            0 => (self.rate * HOSTS_A_RATE / WHOLE_HOSTS).ceil() as u32,
            given => given,
        };
        // No host gives more than one page a second.
        let seconds = self.minutes * 60.0 + self.warm_up_seconds as f64;
        WebShape {
            hosts: hosts.max(1),
            pages_per_host: (seconds * SPARE_PAGES).ceil().clamp(20.0, 5_000.0) as u32,
            links: self.links,
            body_size_bytes: self.body_size_bytes,
            even: true,
        }
    }
}

/// Everything that counts, at one moment.
struct Moment {
    at: Instant,
    done: u64,
    accepted: u64,
    nodes_cpu: f64,
    fetchers_cpu: f64,
    web_cpu: f64,
    own_cpu: f64,
    metrics: NodeMetrics,
}

impl Moment {
    async fn now(cluster: &BenchCluster, web: &Web) -> Result<Self, CommandError> {
        let metrics = cluster.metrics().await?;
        let terms = cluster.terms().await?;
        Ok(Self {
            at: Instant::now(),
            done: terms.done,
            accepted: terms.accepted,
            nodes_cpu: cluster.nodes_cpu_seconds(),
            fetchers_cpu: cluster.fetchers_cpu_seconds(),
            web_cpu: web.cpu_seconds(),
            own_cpu: cpu_time().as_secs_f64(),
            metrics,
        })
    }

    fn rate_since(&self, before: &Self) -> f64 {
        let seconds = (self.at - before.at).as_secs_f64();
        ratio(self.done.saturating_sub(before.done) as f64, seconds)
    }

    fn cpu_since(&self, before: &Self) -> f64 {
        self.nodes_cpu - before.nodes_cpu + self.fetchers_cpu - before.fetchers_cpu
    }

    /// CPU by kind of process, in cores; and what coordination cost each page.
    fn detail_since(&self, before: &Self) -> Value {
        let seconds = (self.at - before.at).as_secs_f64();
        let cores = |now: f64, then: f64| rounded(ratio(now - then, seconds));
        let pages = self.done.saturating_sub(before.done) as f64;
        let log = |what: &str| self.metrics.log(what) - before.metrics.log(what);
        let calls = |m: &NodeMetrics| m.sum("escapement_frontier_calls_total{");
        let wire = |m: &NodeMetrics| m.node("raft_append_bytes_sent");
        json!({
            "cores": {
                "nodes": cores(self.nodes_cpu, before.nodes_cpu),
                "fetchers": cores(self.fetchers_cpu, before.fetchers_cpu),
                "web": cores(self.web_cpu, before.web_cpu),
                "bench": cores(self.own_cpu, before.own_cpu),
            },
            "a_page": {
                "cpu_ms_of_nodes": rounded(ratio((self.nodes_cpu - before.nodes_cpu) * 1e3, pages)),
                "cpu_ms_of_fetchers": rounded(ratio((self.fetchers_cpu - before.fetchers_cpu) * 1e3, pages)),
                "calls": rounded(ratio(calls(&self.metrics) - calls(&before.metrics), pages)),
                "fsyncs": rounded(ratio(log("fsyncs"), pages)),
                "append_bytes": rounded(ratio(wire(&self.metrics) - wire(&before.metrics), pages)),
                "new_urls": rounded(ratio(self.accepted.saturating_sub(before.accepted) as f64, pages)),
            },
        })
    }
}

/// Runs N0.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let shape = args.web();
    let log = dir.join("arrivals.jsonl");
    let web = Web::start(shape, Some(&log))?;
    let pages = shape.pages()?;
    let mut cluster = start(args, &web, pages.len(), dir).await?;
    cluster.control.offer(CRAWL, &shape.roots()?).await?;
    cluster.processes.start_fetchers().await?;
    tokio::time::sleep(Duration::from_secs(args.warm_up_seconds)).await;
    let (meter, client) = (Meter::start(), cluster.client().await?);
    let prober = Prober::start(&client, &cluster.control.shards(), PROBE_EVERY);
    let before = Moment::now(&cluster, &web).await?;
    let mut moments = Vec::new();
    for _ in 0..SLICES {
        tokio::time::sleep(Duration::from_secs_f64(
            args.minutes * 60.0 / f64::from(SLICES),
        ))
        .await;
        cluster.processes.check_alive()?;
        moments.push(Moment::now(&cluster, &web).await?);
    }
    let leases = prober.stop();
    let mut measured = meter.stop();
    let after = moments
        .last()
        .ok_or_else(|| CommandError::Message("no time was measured".to_owned()))?;
    measured.cpu_seconds = after.cpu_since(&before);
    let queued = cluster.terms().await?.queued;
    cluster.stop_fetchers().await?;
    cluster.stop_nodes().await?;
    let judged = Judged::read(&log, DELAY_MS)?;
    let level = StoreOptions::new(dir).compression_level;
    let bare = bare_loop::run(
        n7::http(&web)?,
        &pages,
        args.open as usize,
        level,
        Duration::from_secs(args.floor_seconds),
    )
    .await?;
    let figure = after.rate_since(&before);
    let held = figure >= args.rate && judged.early_contacts == 0;
    output::note(format_args!(
        "{} pages/s of {}; {} early contacts",
        rounded(figure),
        args.rate,
        judged.early_contacts
    ));
    let detail = json!({
        "held": held,
        "rates": slices(&before, &moments),
        "run": after.detail_since(&before),
        "web": judged.detail(),
        "lease_calls_beside": leases,
        "hosts": shape.hosts,
        "queued_at_the_end": queued,
        "floor_pages_a_cpu_second": rounded(ratio(bare.pages as f64, bare.measured.cpu_seconds)),
        "floor_failed": bare.failed,
    });
    let floor = ratio(bare.pages as f64, bare.measured.seconds);
    Outcome::new(ABOUT, (figure, floor), &measured, args, detail)
}

async fn start(
    args: &Args,
    web: &Web,
    pages: usize,
    dir: &Path,
) -> Result<BenchCluster, CommandError> {
    let shape = Shape {
        pages: true,
        fetchers: args.fetchers,
        open_fetches: args.open,
        web: web.address,
        ..Shape::nodes(args.replicas, args.shards, pages as u64)
    };
    let cluster = BenchCluster::start(&shape, dir).await?;
    let policy = pb::CrawlPolicy {
        min_delay_ms: u64::from(DELAY_MS),
        ..impatient()
    };
    cluster.control.set_policy(&policy).await?;
    Ok(cluster)
}

fn slices(before: &Moment, moments: &[Moment]) -> Vec<f64> {
    let starts = std::iter::once(before).chain(moments);
    moments
        .iter()
        .zip(starts)
        .map(|(now, then)| rounded(now.rate_since(then)))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn politeness_allows_more_than_the_rate_until_the_end() {
        for rate in ["386", "772"] {
            let args = Cli::try_parse_from(["n0", "--rate", rate]).unwrap().args;
            let web = args.web();
            let whole = f64::from(web.hosts) * WHOLE_HOSTS;
            assert!(whole >= args.rate * 1.3, "{whole}");
            assert!(f64::from(web.pages_per_host) > args.minutes * 60.0);
        }
    }
}
