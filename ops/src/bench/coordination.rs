//! What coordination costs each page, as the number of shards grows.

use super::cluster::{BenchCluster, Shape};
use super::measure::Meter;
use super::node::{NodeMetrics, impatient};
use super::outcome::{About, Outcome, ratio, rounded};
use super::urls::CRAWL;
use super::web::{Web, WebShape};
use crate::cluster::left;
use crate::output::{self, CommandError};
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "coordination",
    what: "calls of fetchers and nodes for each page, at the largest number of shards",
    unit: "calls/page",
    floor_is: "the same crawl at the smallest number of shards",
    reach: "grows far slower than the number of shards",
};

/// Names of the calls that are told apart.
const CALLS: [&str; 4] = ["lease", "report", "discover", "release"];
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A crawl is over when nothing becomes ready within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `coordination`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Numbers of shards; each is a crawl of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8], value_parser = crate::numbers::positive::<u64>)]
    pub shards: Vec<u64>,
    /// Nodes, each with a replica of every shard and a page store.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub replicas: u32,
    /// Fetchers.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub fetchers: u32,
    /// Open fetches of each.
    #[arg(long, default_value_t = 100, value_parser = crate::numbers::positive::<u32>)]
    pub open: u32,
    /// Hosts of the fake web.
    #[arg(long, default_value_t = 200, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// Pages of a host.
    #[arg(long, default_value_t = 20, value_parser = crate::numbers::positive::<u32>)]
    pub pages_per_host: u32,
    /// Links of a page, about.
    #[arg(long, default_value_t = 62)]
    pub links: u32,
    /// Size of a page, bytes.
    #[arg(long, default_value_t = 10_000)]
    pub body_size_bytes: u32,
    /// Least time between two contacts of a host, ms.
    #[arg(long, default_value_t = 500, value_parser = crate::numbers::positive::<u64>)]
    pub delay_ms: u64,
    /// Longest time of one crawl, s; what was not fetched by then is not counted.
    #[arg(long, default_value_t = 120, value_parser = crate::numbers::positive::<u64>)]
    pub seconds: u64,
}

/// One crawl.
struct Crawl {
    shards: u64,
    pages: u64,
    seconds: f64,
    cpu_seconds: f64,
    metrics: NodeMetrics,
    before: NodeMetrics,
}

impl Crawl {
    fn a_page(&self, of: impl Fn(&NodeMetrics) -> f64) -> f64 {
        ratio(of(&self.metrics) - of(&self.before), self.pages as f64)
    }

    fn calls(&self) -> f64 {
        let of = |call: &str| {
            let family = format!("escapement_frontier_calls_total{{call=\"{call}\"");
            self.a_page(|metrics| metrics.sum(&family))
        };
        CALLS.into_iter().map(of).sum()
    }

    fn detail(&self) -> Value {
        let calls = |call: &str| {
            let family = format!("escapement_frontier_calls_total{{call=\"{call}\"");
            (
                call.to_owned(),
                json!(rounded(self.a_page(|metrics| metrics.sum(&family)))),
            )
        };
        let calls: serde_json::Map<_, _> = CALLS.into_iter().map(calls).collect();
        json!({
            "shards": self.shards,
            "pages": self.pages,
            "pages_a_second": rounded(ratio(self.pages as f64, self.seconds)),
            "cpu_ms_a_page": rounded(ratio(self.cpu_seconds * 1e3, self.pages as f64)),
            "calls_a_page": rounded(self.calls()),
            "calls": calls,
            "entries_a_page": rounded(self.a_page(|m| m.get("escapement_entries_proposed_total"))),
            "commands_a_page": rounded(self.a_page(|m| m.get("escapement_commands_proposed_total"))),
            "entry_bytes_a_page": rounded(self.a_page(|m| m.get("escapement_entry_bytes_proposed_total"))),
            "log_fsyncs_a_page_all_nodes": rounded(self.a_page(|m| m.log("fsyncs"))),
            "page_fsyncs_a_page_all_nodes": rounded(self.a_page(|m| m.node("page_fsyncs"))),
            "appends_sent_a_page": rounded(self.a_page(|m| m.node("raft_appends_sent"))),
            "append_bytes_sent_a_page": rounded(self.a_page(|m| m.node("raft_append_bytes_sent"))),
            "empty_polls_a_page": rounded(self.a_page(|m| m.get("escapement_lease_polls_empty_total"))),
            "outbox_delivered_a_page": rounded(self.a_page(|m| m.get("escapement_outbox_delivered_total"))),
        })
    }
}

/// Runs all crawls.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let (meter, mut crawls) = (Meter::start(), Vec::new());
    for shards in &args.shards {
        let crawl = crawl(args, *shards, &dir.join(shards.to_string())).await?;
        output::note(format_args!(
            "{shards} shards: {} calls a page",
            rounded(crawl.calls())
        ));
        crawls.push(crawl);
    }
    let mut measured = meter.stop();
    measured.seconds = crawls.iter().map(|crawl| crawl.seconds).sum();
    measured.cpu_seconds = crawls.iter().map(|crawl| crawl.cpu_seconds).sum();
    let most = crawls.iter().max_by_key(|crawl| crawl.shards);
    let least = crawls.iter().min_by_key(|crawl| crawl.shards);
    let (Some(most), Some(least)) = (most, least) else {
        return Err(CommandError::Message(
            "no number of shards was given".to_owned(),
        ));
    };
    let figures = (most.calls(), least.calls());
    let detail = json!({ "crawls": crawls.iter().map(Crawl::detail).collect::<Vec<_>>() });
    Outcome::new(ABOUT, figures, &measured, args, detail)
}

/// Crawls the web once, from the roots of all hosts to its end.
async fn crawl(args: &Args, shards: u64, dir: &Path) -> Result<Crawl, CommandError> {
    let web_shape = WebShape {
        hosts: args.hosts,
        pages_per_host: args.pages_per_host,
        links: args.links,
        body_size_bytes: args.body_size_bytes,
        even: true,
    };
    let web = Web::start(web_shape, None)?;
    let shape = Shape {
        pages: true,
        fetchers: args.fetchers,
        open_fetches: args.open,
        web: web.address,
        ..Shape::nodes(args.replicas, shards, 1_000_000)
    };
    let mut cluster = BenchCluster::start(&shape, dir).await?;
    let policy = pb::CrawlPolicy {
        min_delay_ms: args.delay_ms.max(1),
        ..impatient()
    };
    cluster.control.set_policy(&policy).await?;
    let roots = web_shape.roots()?;
    let before = cluster.metrics().await?;
    let cpu_before = cluster.nodes_cpu_seconds() + cluster.fetchers_cpu_seconds();
    cluster.control.offer(CRAWL, &roots).await?;
    let started = Instant::now();
    cluster.processes.start_fetchers().await?;
    until_over(&mut cluster, Duration::from_secs(args.seconds)).await?;
    let seconds = started.elapsed().as_secs_f64();
    let (metrics, terms) = (cluster.metrics().await?, cluster.terms().await?);
    let cpu_seconds = cluster.nodes_cpu_seconds() + cluster.fetchers_cpu_seconds() - cpu_before;
    cluster.stop_fetchers().await?;
    cluster.stop_nodes().await?;
    Ok(Crawl {
        shards,
        pages: terms.done,
        seconds,
        cpu_seconds,
        metrics,
        before,
    })
}

/// Until nothing is left, or the time is over.
async fn until_over(cluster: &mut BenchCluster, lasting: Duration) -> Result<(), CommandError> {
    let until = Instant::now() + lasting;
    while Instant::now() < until {
        tokio::time::sleep(LOOK_EVERY).await;
        cluster.processes.check_alive()?;
        let is_over = match cluster.control.statuses().await {
            Ok(statuses) => left(&statuses).is_idle(PATIENCE),
            Err(_) => false,
        };
        if is_over && cluster.terms().await?.done > 0 {
            break;
        }
    }
    Ok(())
}
