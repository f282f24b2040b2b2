//! N5: the seen set.

use super::measure::{Meter, resident_bytes};
use super::node::BenchNode;
use super::outcome::{About, Outcome, rounded};
use super::rng::mix;
use super::urls::{Hosts, Spread};
use crate::output::CommandError;
use frontier_node::limits::FILTER_BITS_PER_URL;
use proto::frontier_v1 as pb;
use raftlog::{EngineOptions, RawStore, RowBatch, StateError};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ABOUT: About = About {
    bench: "n5",
    what: "the seen set: disk space of a URL, compacted",
    unit: "bytes/URL",
    floor_is: "the 8 bytes of a fingerprint",
    reach: "<= 12 B a URL on disk, <= 10.5 bits in memory, <= 1 % of new URLs reach RocksDB",
};

/// Keys of one batch.
const KEYS_A_BATCH: u64 = 16_384;

/// Arguments of `n5`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// URLs in the set. They are loaded as rows of the state database, not through the log: in order of arrival, that is
    /// of no order, as a crawl would write them.
    #[arg(long, default_value_t = 10_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub urls: u64,
    /// Sites they are spread over evenly.
    #[arg(long, default_value_t = 100_000, value_parser = crate::numbers::positive::<u64>)]
    pub sites: u64,
    /// Threads that load them.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<usize>)]
    pub threads: usize,
    /// New URLs offered afterwards.
    #[arg(long, default_value_t = 200_000, value_parser = crate::numbers::positive::<u64>)]
    pub probes: u64,
}

/// Runs N5.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let node_dir = dir.join("node");
    let node = BenchNode::open(&node_dir, 1, args.urls).await?;
    node.create_crawl().await?;
    node.close().await?;
    let meter = Meter::start();
    let (for_load, load_dir) = (args.clone(), node_dir.clone());
    let loaded = tokio::task::spawn_blocking(move || load(&load_dir, &for_load)).await;
    let loaded = loaded.map_err(|e| CommandError::of("loading failed", e))??;
    let resident_before = resident_bytes();
    let scanning = Instant::now();
    let node = BenchNode::open(&node_dir, 1, args.urls).await?;
    node.wait_for_filter().await;
    let filter_seconds = scanning.elapsed().as_secs_f64();
    let resident_growth = resident_bytes().saturating_sub(resident_before);
    let probed = probe(&node, args).await?;
    let measured = meter.stop();
    node.close().await?;
    let urls = args.urls.max(1) as f64;
    let figure = loaded.size_bytes as f64 / urls;
    let detail = json!({
        "filter_bits_a_url": FILTER_BITS_PER_URL,
        "resident_growth_bits_a_url": rounded(resident_growth as f64 * 8.0 / urls),
        "new_urls_that_reach_rocksdb": rounded(probed.share),
        "new_urls_offered": probed.new,
        "fill_seconds": rounded(loaded.fill_seconds),
        "fill_urls_a_second": rounded(urls / loaded.fill_seconds),
        "compact_seconds": rounded(loaded.compact_seconds),
        "size_before_compaction_bytes": loaded.size_before_bytes,
        "size_bytes": loaded.size_bytes,
        "open_and_filter_scan_seconds": rounded(filter_seconds),
    });
    Outcome::new(ABOUT, (figure, 8.0), &measured, args, detail)
}

struct Loaded {
    fill_seconds: f64,
    compact_seconds: f64,
    size_before_bytes: u64,
    size_bytes: u64,
}

/// Writes the rows as a node's state does: batches without WAL into the same database.
fn load(dir: &Path, args: &Args) -> Result<Loaded, CommandError> {
    let failed =
        |error: &dyn std::fmt::Display| CommandError::of("cannot load the seen set", error);
    let store = RawStore::open(&EngineOptions::new(dir, 1)).map_err(|e| failed(&e))?;
    let empty_bytes = store.state_size_bytes().map_err(|e| failed(&e))?;
    let filling = Instant::now();
    fill(&store, args).map_err(|e| failed(&e))?;
    store.flush().map_err(|e| failed(&e))?;
    let fill_seconds = filling.elapsed().as_secs_f64();
    let size_before_bytes = store
        .state_size_bytes()
        .map_err(|e| failed(&e))?
        .saturating_sub(empty_bytes);
    let compacting = Instant::now();
    store.compact();
    let size_bytes = store
        .state_size_bytes()
        .map_err(|e| failed(&e))?
        .saturating_sub(empty_bytes);
    Ok(Loaded {
        fill_seconds,
        compact_seconds: compacting.elapsed().as_secs_f64(),
        size_before_bytes,
        size_bytes,
    })
}

/// Writes all rows, batch after batch, each thread the next.
fn fill(store: &RawStore, args: &Args) -> Result<(), StateError> {
    let next = AtomicU64::new(0);
    let write = || {
        loop {
            let first = next.fetch_add(KEYS_A_BATCH, Ordering::Relaxed);
            if first >= args.urls {
                return Ok(());
            }
            let mut batch = RowBatch::new();
            for url in first..args.urls.min(first + KEYS_A_BATCH) {
                let site = mix(!url) % args.sites.max(1);
                batch.put(machine::seen_key(mix(site), mix(url)), Vec::new());
            }
            store.write(&batch)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads.max(1))
            .map(|_| scope.spawn(write))
            .collect();
        let panicked = |_| Err(StateError::Db("a thread panicked".to_owned()));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(panicked))
    })
}

struct Probed {
    share: f64,
    new: u64,
}

/// Offers URLs that are not in the set and counts the looks at the filter that went on to RocksDB.
async fn probe(node: &BenchNode, args: &Args) -> Result<Probed, CommandError> {
    let spread = Spread {
        hosts: 10_000,
        sites: 10_000,
        skew: 0.0,
    };
    let hosts = Hosts::new(spread.hosts, spread.sites, 1);
    let stream = hosts
        .stream(0, spread.skew)
        .ok_or_else(|| CommandError::Message("there are no hosts".to_owned()))?;
    let (before, frontier) = (node.metrics().await?, node.frontier());
    let mut new = 0;
    for first in (0..args.probes).step_by(1_024) {
        let items = stream.items(first..args.probes.min(first + 1_024));
        let answer = frontier
            .discover(pb::DiscoverRequest {
                shard: stream.shard,
                items,
            })
            .await;
        let answer = answer.map_err(|e| CommandError::of("an offer failed", e))?;
        new += answer
            .results
            .iter()
            .filter(|r| r.code() == pb::discover_result::Code::New)
            .count() as u64;
    }
    let after = node.metrics().await?;
    let checks = |end: &str| after.filter_checks(end) - before.filter_checks(end);
    Ok(Probed {
        share: checks("read") / (checks("read") + checks("absent")).max(1.0),
        new,
    })
}
