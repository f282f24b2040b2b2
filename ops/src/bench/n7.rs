//! N7: pages a second and core, from fetch to durable page to report.

use super::bare_loop::{self, Bare};
use super::measure::{Measured, Meter};
use super::node::BenchNode;
use super::outcome::{About, Outcome, ratio, rounded};
use super::urls::CRAWL;
use super::web::{Web, WebShape};
use crate::output::CommandError;
use fetcher::dns::Dns;
use fetcher::{Crawls, Fetcher, FetcherConfig, HttpConfig, LocalPages, Metrics, Parts};
use page_store::{PageStore, StoreOptions};
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use urlkey::{CanonicalUrl, SuffixList};

const ABOUT: About = About {
    bench: "n7",
    what: "pages fetched, stored durably and reported, frontier in the same process; the size with the lowest ratio",
    unit: "pages per CPU second",
    floor_is: "a bare loop with the same client and as many fetches at once that hashes, compresses and extracts, and \
               keeps nothing",
    reach: ">= 50 % of floor",
};

/// Arguments of `n7`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Sizes of the pages, bytes; each is a run of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000])]
    pub body_size_bytes: Vec<u32>,
    /// Measured time of each run, s, after two of warming up; less when the pages run out.
    #[arg(long, default_value_t = 12, value_parser = crate::numbers::positive::<u64>)]
    pub seconds: u64,
    /// Measured time of each floor, s.
    #[arg(long, default_value_t = 6, value_parser = crate::numbers::positive::<u64>)]
    pub floor_seconds: u64,
    /// Open fetches.
    #[arg(long, default_value_t = 100, value_parser = crate::numbers::positive::<usize>)]
    pub open: usize,
    /// Hosts of the fake web, one millisecond between contacts: politeness is not what is measured.
    #[arg(long, default_value_t = 400, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// Mean pages of a host.
    #[arg(long, default_value_t = 100, value_parser = crate::numbers::positive::<u32>)]
    pub pages_per_host: u32,
    /// Links of a page, about.
    #[arg(long, default_value_t = 62)]
    pub links: u32,
    /// Shards of the node.
    #[arg(long, default_value_t = 1, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
}

/// Runs N7.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let mut sizes = Vec::new();
    for size_bytes in &args.body_size_bytes {
        sizes.push(one_size(args, *size_bytes, &dir.join(size_bytes.to_string())).await?);
    }
    let lowest = sizes.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let lowest = lowest.ok_or_else(|| CommandError::Message("no size was given".to_owned()))?;
    let detail = json!({ "sizes": sizes.iter().map(Size::detail).collect::<Vec<_>>() });
    Outcome::new(
        ABOUT,
        (lowest.figure(), lowest.floor()),
        &lowest.measured,
        args,
        detail,
    )
}

/// One size's run and floor.
struct Size {
    body_size_bytes: u32,
    pages: u64,
    measured: Measured,
    web_cpu_seconds: f64,
    fsyncs: u64,
    counters: Vec<(&'static str, u64)>,
    bare: Bare,
}

impl Size {
    fn figure(&self) -> f64 {
        ratio(self.pages as f64, self.measured.cpu_seconds)
    }

    fn floor(&self) -> f64 {
        ratio(self.bare.pages as f64, self.bare.measured.cpu_seconds)
    }

    fn ratio(&self) -> f64 {
        ratio(self.figure(), self.floor())
    }

    fn detail(&self) -> Value {
        let counters: serde_json::Map<_, _> = self
            .counters
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        json!({
            "body_size_bytes": self.body_size_bytes,
            "pages": self.pages,
            "pages_a_second": rounded(self.pages as f64 / self.measured.seconds),
            "pages_a_cpu_second": rounded(self.figure()),
            "floor_pages_a_second": rounded(self.bare.pages as f64 / self.bare.measured.seconds),
            "floor_pages_a_cpu_second": rounded(self.floor()),
            "floor_failed": self.bare.failed,
            "ratio": rounded(self.ratio()),
            "seconds": rounded(self.measured.seconds),
            "cpu_seconds": rounded(self.measured.cpu_seconds),
            "peak_memory_bytes": self.measured.peak_memory_bytes,
            "web_cpu_seconds": rounded(self.web_cpu_seconds),
            "store_fsyncs": self.fsyncs,
            "fetcher": counters,
        })
    }
}

async fn one_size(args: &Args, body_size_bytes: u32, dir: &Path) -> Result<Size, CommandError> {
    let shape = WebShape {
        hosts: args.hosts,
        pages_per_host: args.pages_per_host,
        links: args.links,
        body_size_bytes,
        even: false,
    };
    let web = Web::start(shape, None)?;
    let http = http(&web)?;
    let node = BenchNode::open(&dir.join("node"), args.shards, 1_000_000).await?;
    node.create_crawl().await?;
    node.wait_for_filter().await;
    seed(&node, &shape.roots()?).await?;
    let store = StoreOptions::new(dir.join("pages"));
    let level = store.compression_level;
    let store = tokio::task::spawn_blocking(move || PageStore::open(store)).await;
    let store = store.map_err(|e| CommandError::of("cannot open the page store", e))?;
    let store = Arc::new(store.map_err(|e| CommandError::of("cannot open the page store", e))?);
    let fetcher = Fetcher::new(parts(args, http.clone(), &node, &store))
        .map_err(|e| CommandError::of("cannot fetch", e))?;
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let running = tokio::spawn(fetcher.run());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, web_before, fsyncs_before) = (
        metrics.reports_closed.get(),
        web.cpu_seconds(),
        store.stats().fsyncs,
    );
    let meter = Meter::start();
    until_over(&node, Duration::from_secs(args.seconds)).await?;
    let measured = meter.stop();
    let pages = metrics.reports_closed.get() - before;
    let web_cpu_seconds = web.cpu_seconds() - web_before;
    let fsyncs = store.stats().fsyncs - fsyncs_before;
    stop.cancel();
    running
        .await
        .map_err(|e| CommandError::of("the fetcher failed", e))?;
    node.close().await?;
    drop(store);
    let bare = bare_loop::run(
        http,
        &shape.pages()?,
        args.open,
        level,
        Duration::from_secs(args.floor_seconds),
    )
    .await?;
    Ok(Size {
        body_size_bytes,
        pages,
        measured,
        web_cpu_seconds,
        fsyncs,
        counters: metrics.snapshot(),
        bare,
    })
}

/// Until the time is over or no page is left.
async fn until_over(node: &BenchNode, lasting: Duration) -> Result<(), CommandError> {
    let until = Instant::now() + lasting;
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let terms = node.status().await?;
        if terms.queued + terms.leased == 0 {
            break;
        }
    }
    Ok(())
}

/// A client for which every host is at the fake web.
pub fn http(web: &Web) -> Result<HttpConfig, CommandError> {
    let every = format!("*={}", web.address)
        .parse()
        .map_err(|e| CommandError::of("cannot reach the fake web", e))?;
    let loopback = "127.0.0.0/8"
        .parse()
        .map_err(|e| CommandError::of("cannot reach the fake web", e))?;
    Ok(HttpConfig {
        allow_net: vec![loopback],
        resolve: vec![every],
        ..HttpConfig::default()
    })
}

fn parts(args: &Args, http: HttpConfig, node: &BenchNode, store: &Arc<PageStore>) -> Parts {
    Parts {
        config: FetcherConfig {
            http,
            open_fetches: args.open,
            ..FetcherConfig::default()
        },
        frontier: node.frontier(),
        links: node.router(),
        pages: Arc::new(LocalPages::new(Arc::clone(store), 1)),
        crawls: Crawls::any(SuffixList::shipped()),
        dns: Dns::system(),
        extra_roots: Vec::new(),
        metrics: Arc::new(Metrics::default()),
    }
}

/// The root of every host, so that all are busy from the start.
async fn seed(node: &BenchNode, roots: &[String]) -> Result<(), CommandError> {
    let router = node.router();
    let mut items = Vec::with_capacity(roots.len());
    for url in roots {
        let canonical = CanonicalUrl::verify(url, urlkey::limits::HARD_MAX_URL_BYTES)
            .map_err(|e| CommandError::of("a root is not canonical", e))?;
        let partition = router.partition_of_host(canonical.host());
        let link = pb::Link {
            crawl: CRAWL,
            url: url.clone(),
            partition,
            priority: 128,
            ..pb::Link::default()
        };
        items.push(pb::DiscoverItem {
            item: Some(pb::discover_item::Item::Link(link)),
        });
    }
    let offered = router.offer(items).await;
    if offered.undelivered.is_empty() {
        Ok(())
    } else {
        Err(CommandError::Message(
            "the frontier did not take the roots".to_owned(),
        ))
    }
}
