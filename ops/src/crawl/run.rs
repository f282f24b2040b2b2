//! One run: frontier, store and fetcher put together, seeds offered, watched to its end, stopped cleanly.

use super::args::{Args, ScopeName};
use super::end::{self, End};
use super::progress::Progress;
use super::seeds::{self, Seeds};
use super::settings::{CRAWL, Settings};
use super::summary::{PRIVATE_ADDRESS, Summary};
use crate::embedded::Embedded;
use crate::output::{self, CommandError};
use crate::signals;
use fetcher::dns::Dns;
use fetcher::{
    CrawlRules, Crawls, Fetcher, FetcherConfig, HttpConfig, LocalPages, Metrics, Parts, Scope,
};
use proto::frontier_v1 as pb;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use urlkey::{CanonicalUrl, Canonicalizer};

/// How often the end is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What a node of a cluster keeps in its directory.
const NODE_FILE: &str = "node.toml";
/// How long a stop may take.
const STOP_WITHIN: Duration = Duration::from_secs(40);

/// Runs `crawl`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    let code = runtime.block_on(crawl(args))?;
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(code)
}

async fn crawl(args: &Args) -> Result<ExitCode, CommandError> {
    let started = Instant::now();
    let seeds = seeds::gather(&args.urls, args.seeds.as_deref())?;
    for refused in &seeds.refused {
        output::note(format_args!("escapement: {refused}"));
    }
    config(args)
        .check()
        .map_err(|e| CommandError::of("cannot fetch", e))?;
    let settings = settle(args, &seeds)?;
    let embedded = Embedded::open(&args.out, settings.shards).await?;
    // Closed on every path: a process that ends while its databases work aborts.
    let crawled = crawl_with(args, &seeds, &settings, &embedded, started).await;
    embedded.close().await;
    let summary = crawled?;
    if args.json {
        output::line(
            serde_json::to_string(&summary)
                .map_err(|e| CommandError::of("cannot write JSON", e))?,
        )?;
    } else {
        output::line(summary.text())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn crawl_with(
    args: &Args,
    seeds: &Seeds,
    settings: &Settings,
    embedded: &Embedded,
    started: Instant,
) -> Result<Summary, CommandError> {
    embedded.set_policy(policy(args)).await?;
    embedded.offer(links(seeds)).await?;
    let stored = stored(&embedded.shards().await?);
    let parts = parts(args, stored, settings, embedded);
    let metrics = Arc::clone(&parts.metrics);
    let fetcher = Fetcher::new(parts).map_err(|e| CommandError::of("cannot fetch", e))?;
    let end = watch(args, embedded, fetcher).await?;
    let shards = embedded.shards().await?;
    let mut summary = Summary::of(&shards, &embedded.pages.stats(), end, started.elapsed());
    summary.refuse("seed", seeds.refused.len() as u64);
    summary.refuse("links_over_limit", metrics.links_dropped.get());
    summary.refuse(PRIVATE_ADDRESS, metrics.addresses_refused.get());
    Ok(summary)
}

/// Pages stored by all runs on the directory.
fn stored(shards: &[pb::ShardStatusResponse]) -> u64 {
    shards
        .iter()
        .filter_map(|shard| shard.counters.get("pages_stored"))
        .sum()
}

/// What the directory is bound to, with this run's seeds added.
fn settle(args: &Args, seeds: &Seeds) -> Result<Settings, CommandError> {
    let stored = Settings::read(&args.out)?;
    if stored.is_none() && args.out.join(NODE_FILE).exists() {
        return Err(CommandError::Message(format!(
            "{} is the directory of a frontier-node ({NODE_FILE}): a crawl needs one of its own",
            args.out.display()
        )));
    }
    let is_new = stored.is_none();
    let mut settings = stored.unwrap_or_else(|| Settings {
        version: Settings::VERSION,
        shards: args.shards,
        scope: args.scope,
        seeds: Default::default(),
    });
    settings.scope = args.scope;
    settings
        .seeds
        .extend(seeds.urls.iter().map(|url| url.as_str().to_owned()));
    if settings.seeds.is_empty() {
        return Err(seeds.none());
    }
    // Not before: a run without seeds leaves nothing behind.
    raftlog::make_durable_dir(&args.out)
        .map_err(|e| CommandError::io(format!("cannot make {}", args.out.display()), e))?;
    if !is_new && settings.shards != args.shards && args.shards != 1 {
        output::note(format_args!(
            "escapement: the directory has {} shards; --shards {} is ignored",
            settings.shards, args.shards
        ));
    }
    settings.write(&args.out)?;
    Ok(settings)
}

fn policy(args: &Args) -> pb::CrawlPolicy {
    let ms = |duration: Duration| {
        u64::try_from(duration.as_millis())
            .unwrap_or(u64::MAX)
            .max(1)
    };
    pb::CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: ms(args.delay),
        fetch_timeout_ms: ms(args.fetch_timeout),
        back_off_base_ms: ms(args.back_off),
        max_attempts: args.attempts,
        ..pb::CrawlPolicy::default()
    }
}

fn links(seeds: &Seeds) -> Vec<pb::Link> {
    let link = |url: &CanonicalUrl| pb::Link {
        crawl: CRAWL,
        url: url.as_str().to_owned(),
        ..pb::Link::default()
    };
    seeds.urls.iter().map(link).collect()
}

fn config(args: &Args) -> FetcherConfig {
    FetcherConfig {
        http: HttpConfig {
            product: args.product.clone(),
            contact: args.contact.clone(),
            fetch_timeout_ms: args.fetch_timeout.as_millis() as u64,
            allow_net: args.allow_net.clone(),
            resolve: args.resolve.clone(),
            ..HttpConfig::default()
        },
        open_fetches: args.open,
        lease_ttl_ms: args.lease_ttl.as_millis() as u64,
        ..FetcherConfig::default()
    }
}

fn parts(args: &Args, stored: u64, settings: &Settings, embedded: &Embedded) -> Parts {
    let mut config = config(args);
    if let Some(most) = args.max_pages {
        // More open fetches than pages wanted would only overshoot.
        let left = usize::try_from(most.saturating_sub(stored)).unwrap_or(usize::MAX);
        config.open_fetches = config.open_fetches.min(left.max(1));
    }
    let seeds = settings
        .seeds
        .iter()
        .filter_map(|url| Canonicalizer::default().canonicalize(url).ok());
    let seeds: Vec<CanonicalUrl> = seeds.collect();
    let mut crawls = Crawls::any(Arc::clone(&embedded.suffixes));
    let scope = match settings.scope {
        ScopeName::Any => Scope::Any,
        ScopeName::Host => Scope::hosts_of(&seeds),
        ScopeName::Site => Scope::sites_of(&seeds, &embedded.suffixes),
    };
    crawls.rules.insert(
        CRAWL,
        CrawlRules {
            scope,
            ..CrawlRules::default()
        },
    );
    Parts {
        dns: Dns::system(),
        config,
        frontier: Arc::clone(&embedded.frontier),
        links: Arc::clone(&embedded.router) as _,
        pages: Arc::new(LocalPages::new(Arc::clone(&embedded.pages), 1)),
        crawls,
        extra_roots: Vec::new(),
        metrics: Arc::new(Metrics::default()),
    }
}

/// Runs the fetcher until the crawl is over or the person stops it.
async fn watch(args: &Args, embedded: &Embedded, fetcher: Fetcher) -> Result<End, CommandError> {
    let stop = fetcher.stop_handle();
    let mut running = tokio::spawn(fetcher.run());
    let stopped = signals::stopped();
    tokio::pin!(stopped);
    let mut progress = Progress::start();
    let mut look = tokio::time::interval(LOOK_EVERY);
    let end = loop {
        tokio::select! {
            asked = &mut stopped => {
                asked.map_err(|e| CommandError::io("cannot wait for signals", e))?;
                break End::Stopped;
            }
            _ = &mut running => return Err(CommandError::Message("the fetcher ended by itself".to_owned())),
            _ = look.tick() => {
                let shards = embedded.shards().await?;
                let stored = stored(&shards);
                progress.show(&shards, stored);
                if let Some(end) = end::reached(&shards, stored, args.max_pages, args.patience) {
                    break end;
                }
            }
        }
    };
    progress.finish();
    stop.cancel();
    match tokio::time::timeout(STOP_WITHIN, running).await {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) | Err(_) => output::note(format_args!(
            "escapement: some fetches did not end in time; their leases run out by themselves"
        )),
        Ok(Err(error)) => return Err(CommandError::of("the fetcher failed", error)),
    }
    Ok(end)
}
