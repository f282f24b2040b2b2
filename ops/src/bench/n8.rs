//! N8: from the start of a killed node that knows millions of URLs to its first lease.

use super::cluster::{BenchCluster, Shape};
use super::lease_probe::first_lease;
use super::measure::{Meter, cpu_seconds_of, peak_bytes_of};
use super::node::impatient;
use super::outcome::{About, Outcome, rounded};
use super::preload::Preload;
use super::target::Target;
use super::urls::Spread;
use crate::output::CommandError;
use raftlog::{EngineOptions, RawStore};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "n8",
    what: "a node of one replica, killed, from its start to the first lease",
    unit: "s",
    floor_is: "opening the same two databases after the same kill, and nothing else",
    reach: "< 5 s with 10 million URLs",
};

/// URLs offered before each kill.
const NEW_A_ROUND: u64 = 50_000;
/// How long a shard may take.
const LEASE_WITHIN: Duration = Duration::from_secs(300);

/// Arguments of `n8`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// URLs that the node knows, offered over gRPC before.
    #[arg(long, default_value_t = 10_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub urls: u64,
    /// Shards of the node.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// Writers that offer them.
    #[arg(long, default_value_t = 16, value_parser = crate::numbers::positive::<usize>)]
    pub writers: usize,
    /// Kills and starts; the median counts.
    #[arg(long, default_value_t = 3, value_parser = crate::numbers::positive::<usize>)]
    pub rounds: usize,
    #[command(flatten)]
    #[serde(flatten)]
    pub spread: Spread,
}

/// One start.
struct Round {
    first: Duration,
    every_shard: Duration,
    ready: Duration,
    open: Duration,
    cpu_seconds: f64,
    peak_bytes: u64,
}

/// Runs N8.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let shape = Shape::nodes(1, args.shards, args.urls);
    let cluster = BenchCluster::start(&shape, dir).await?;
    cluster.control.set_policy(&impatient()).await?;
    let mut target = Target::Cluster(Box::new(cluster));
    let loading = Instant::now();
    let load = Preload::new(&target, args.writers, args.spread);
    load.offer(&target, 0..args.urls).await?;
    let load_seconds = loading.elapsed().as_secs_f64();
    let (meter, mut rounds) = (Meter::start(), Vec::new());
    for round in 0..args.rounds.max(1) as u64 {
        // What a node has not flushed is part of its start.
        let first = args.urls + round * NEW_A_ROUND;
        load.offer(&target, first..first + NEW_A_ROUND).await?;
        rounds.push(one_start(&mut target, &dir.join(format!("copy-{round}"))).await?);
    }
    target.wait_for_filter().await?;
    let accepted = target.terms().await?.accepted;
    target.close().await?;
    let mut measured = meter.stop();
    measured.cpu_seconds = rounds.iter().map(|round| round.cpu_seconds).sum();
    measured.peak_memory_bytes = rounds.iter().map(|r| r.peak_bytes).max().unwrap_or(0);
    let median = |of: fn(&Round) -> Duration| {
        let mut all: Vec<Duration> = rounds.iter().map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2)
            .map_or(0.0, |time| rounded(time.as_secs_f64()))
    };
    let worst = rounds.iter().map(|round| round.first).max();
    let detail = json!({
        "urls": accepted,
        "load_seconds": rounded(load_seconds),
        "loaded_a_second": rounded(args.urls as f64 / load_seconds),
        "first_lease_worst_s": rounded(worst.unwrap_or_default().as_secs_f64()),
        "lease_of_every_shard_s": median(|round| round.every_shard),
        "ready_line_s": median(|round| round.ready),
        "node_peak_memory_bytes": measured.peak_memory_bytes,
    });
    let figures = (median(|round| round.first), median(|round| round.open));
    Outcome::new(ABOUT, figures, &measured, args, detail)
}

/// Kills the node, keeps its databases for the floor, and starts it again.
async fn one_start(target: &mut Target, copy: &Path) -> Result<Round, CommandError> {
    let Target::Cluster(cluster) = target else {
        return Err(CommandError::Message("a node was expected".to_owned()));
    };
    cluster.processes.kill_node(1)?;
    copy_databases(&cluster.node_dir(1), copy)
        .map_err(|e| CommandError::io("cannot copy the databases", e))?;
    let started = Instant::now();
    cluster.processes.start_node(1)?;
    let mut asked = Vec::new();
    for shard in cluster.control.shards() {
        let node = cluster.control.nodes().get(&1).cloned();
        let node = node.ok_or_else(|| CommandError::Message("there is no node 1".to_owned()))?;
        asked.push(tokio::spawn(first_lease(
            Arc::new(node),
            shard,
            started,
            LEASE_WITHIN,
        )));
    }
    cluster.processes.wait_node(1).await?;
    let ready = started.elapsed();
    let mut times = Vec::new();
    for one in asked {
        let time = one
            .await
            .map_err(|e| CommandError::of("a probe failed", e))?;
        times.push(time?);
    }
    let pid = cluster.processes.node_pid(1).unwrap_or(0);
    let open = open(copy).await?;
    Ok(Round {
        first: times.iter().min().copied().unwrap_or_default(),
        every_shard: times.iter().max().copied().unwrap_or_default(),
        ready,
        open,
        cpu_seconds: cpu_seconds_of(pid),
        peak_bytes: peak_bytes_of(pid),
    })
}

/// Opens databases and closes them again; how long opening took.
async fn open(dir: &Path) -> Result<Duration, CommandError> {
    let options = EngineOptions::new(dir, 1);
    let opened = tokio::task::spawn_blocking(move || {
        let opening = Instant::now();
        RawStore::open(&options).map(|_store| opening.elapsed())
    });
    opened
        .await
        .map_err(|e| CommandError::of("the floor failed", e))?
        .map_err(|e| CommandError::of("the floor failed", e))
}

/// Copies a closed node's databases. Tables never change, so they are shared.
fn copy_databases(from: &Path, to: &Path) -> std::io::Result<()> {
    for database in ["log", "state"] {
        let (from, to) = (from.join(database), to.join(database));
        std::fs::create_dir_all(&to)?;
        for entry in std::fs::read_dir(from)? {
            let file = entry?.path();
            let copied = to.join(file.file_name().unwrap_or_default());
            if file.extension().is_some_and(|ending| ending == "sst") {
                std::fs::hard_link(&file, copied)?;
            } else {
                std::fs::copy(&file, copied)?;
            }
        }
    }
    Ok(())
}
