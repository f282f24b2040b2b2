//! `escapement seed`: gives a running cluster a crawl's policy and URLs to start from.

use crate::crawl::{CRAWL, gather_seeds};
use crate::duration;
use crate::output::{self, CommandError};
use crate::patience::Patience;
use crate::policy::{self, PolicyError};
use crate::stores;
use client::{RoutedFrontier, Router};
use proto::frontier_v1 as pb;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use urlkey::CanonicalUrl;

/// Seeds offered at once.
const OFFERED_AT_ONCE: usize = 8_192;

/// Exit code when seeds were refused.
const EXIT_REFUSED: u8 = 2;

/// Arguments of `seed`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each run sets the crawl's policy anew: repeat --delay and --fetch-timeout.\n\
        Waits up to 30 s for a cluster that is still starting.\n\
        Exit code: 0 all seeds were taken or known, 1 failed, 2 a seed was refused or the command line is wrong."
)]
pub struct Args {
    /// gRPC addresses of the cluster's nodes, some or all.
    #[arg(long, value_delimiter = ',', value_name = "ADDRESS", required = true)]
    frontier: Vec<String>,
    /// URLs to start from.
    urls: Vec<String>,
    /// File with further URLs, one a line; empty lines and lines that start with # are skipped.
    #[arg(long)]
    seeds: Option<PathBuf>,
    /// Least time between two contacts of a host.
    #[arg(long, default_value = "1s", value_parser = duration::parse)]
    delay: Duration,
    /// Longest time of one fetch, as the fetchers are set.
    #[arg(long, default_value = "30s", value_parser = duration::parse)]
    fetch_timeout: Duration,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, value_name = "FILE")]
    suffix_list: Option<PathBuf>,
}

/// Runs `seed`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let seeds = gather_seeds(&args.urls, args.seeds.as_deref())?;
    for refused in &seeds.refused {
        output::note(format_args!("escapement: {refused}"));
    }
    match (seeds.urls.is_empty(), seeds.refused.is_empty()) {
        (true, true) => return Err(seeds.none()),
        (true, false) => {
            output::note(format_args!("escapement: {}", seeds.none()));
            return Ok(ExitCode::from(EXIT_REFUSED));
        }
        _ => {}
    }
    let urls: Vec<CanonicalUrl> = seeds.urls.into_iter().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    let counts = runtime.block_on(seed(args, &urls))?;
    output::line(format_args!(
        "{} new, {} known, {} refused",
        counts.new, counts.known, counts.refused
    ))?;
    Ok(if counts.refused == 0 && seeds.refused.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_REFUSED)
    })
}

/// What became of the seeds.
#[derive(Debug, Default)]
struct Counts {
    new: u64,
    known: u64,
    refused: u64,
}

async fn seed(args: &Args, urls: &[CanonicalUrl]) -> Result<Counts, CommandError> {
    let mut patience = Patience::new();
    let router = stores::connect(&args.frontier, args.suffix_list.as_deref(), &mut patience);
    let router = Arc::new(router.await?);
    set_policy(args, &router, &mut patience).await?;
    let mut counts = Counts::default();
    for urls in urls.chunks(OFFERED_AT_ONCE) {
        let items = urls.iter().map(|url| link(&router, url)).collect();
        let offered = router.offer(items).await;
        if !offered.undelivered.is_empty() {
            return Err(CommandError::Message(format!(
                "{} seeds were not taken in time; run it again, what is known stays known",
                offered.undelivered.len()
            )));
        }
        for (url, result) in urls.iter().zip(&offered.results) {
            use pb::discover_result::Code;
            let Some(result) = result else { continue };
            match result.code() {
                Code::New => counts.new += 1,
                Code::Known => counts.known += 1,
                _ => {
                    counts.refused += 1;
                    let (url, reason) = (output::quoted(url.as_str()), &result.reason);
                    output::note(format_args!("escapement: seed {url} refused: {reason}"));
                }
            }
        }
    }
    Ok(counts)
}

async fn set_policy(
    args: &Args,
    router: &Arc<Router>,
    patience: &mut Patience,
) -> Result<(), CommandError> {
    let ms = |duration: Duration| {
        u64::try_from(duration.as_millis())
            .unwrap_or(u64::MAX)
            .max(1)
    };
    let policy = pb::CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: ms(args.delay),
        fetch_timeout_ms: ms(args.fetch_timeout),
        ..pb::CrawlPolicy::default()
    };
    let frontier = RoutedFrontier::new(Arc::clone(router));
    let set = async |shard| {
        let set = async || policy::set(&frontier, shard, policy).await;
        patience.until(set).await
    };
    let everywhere = router.each_shard(set).await;
    everywhere.map(drop).map_err(PolicyError::into_command)
}

fn link(router: &Router, url: &CanonicalUrl) -> pb::DiscoverItem {
    pb::DiscoverItem {
        item: Some(pb::discover_item::Item::Link(pb::Link {
            crawl: CRAWL,
            url: url.as_str().to_owned(),
            partition: router.partition_of_host(url.host()),
            ..pb::Link::default()
        })),
    }
}
