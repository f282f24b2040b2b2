//! N1: new URLs accepted a second over gRPC.

use super::floor::{self, Job};
use super::model::{self, Model};
use super::node::impatient;
use super::offering::{self, Batches, Load};
use super::outcome::{About, Outcome};
use super::target::{MOST_REPLICAS, Target};
use super::urls::{Hosts, Spread};
use crate::output::CommandError;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ABOUT: About = About {
    bench: "n1",
    what: "new URLs accepted over gRPC, one replica",
    unit: "URLs/s",
    floor_is: "the same log and row bytes straight to RocksDB, same writers and batches, syncs shared",
    reach: ">= 50 % of floor; >= 80000 on a quiet machine",
};

const fn about(replicas: u32) -> About {
    if replicas == 1 {
        return ABOUT;
    }
    About {
        what: "new URLs accepted over gRPC, several replicas, each a process",
        floor_is: "one replica's log and row bytes straight to RocksDB, same writers and batches, syncs shared",
        reach: ">= 20 % of floor; >= 30000 on a quiet machine (3 replicas)",
        ..ABOUT
    }
}

/// Arguments of `n1`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Replicas: one in this process, or so many node processes on loopback.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_REPLICAS))]
    pub replicas: u32,
    /// Measured time, s.
    #[arg(long, default_value_t = 15, value_parser = crate::numbers::positive::<u64>)]
    pub seconds: u64,
    /// Writers at once, each with one batch under way.
    #[arg(long, default_value_t = 16, value_parser = crate::numbers::positive::<usize>)]
    pub writers: usize,
    /// URLs of a batch, at most 1024.
    #[arg(long, default_value_t = 256, value_parser = crate::numbers::positive::<usize>)]
    pub batch: usize,
    /// Shards of the node.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// URLs the node's filter is sized for.
    #[arg(long, default_value_t = 10_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub expected_urls: u64,
    /// URLs of the floor.
    #[arg(long, default_value_t = 600_000, value_parser = crate::numbers::positive::<u64>)]
    pub floor_urls: u64,
    #[command(flatten)]
    #[serde(flatten)]
    pub spread: Spread,
}

/// Runs N1.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let hosts = Arc::new(Hosts::new(
        args.spread.hosts,
        args.spread.sites,
        args.shards,
    ));
    let target = Target::open_for_offers(
        args.replicas,
        &dir.join("node"),
        args.shards,
        args.expected_urls,
    )
    .await?;
    let load = Load {
        writers: args.writers.max(1),
        batch: args.batch.clamp(1, 1_024),
        measured: Duration::from_secs(args.seconds),
        warm_up: Duration::from_secs(1),
        skew: args.spread.skew,
    };
    let batch = load.batch as u64;
    let batches: Batches =
        Arc::new(move |stream, call| stream.items(call * batch..(call + 1) * batch));
    let offered = offering::offer(&target, &hosts, load, &batches).await?;
    target.close().await?;
    let (for_floor, floor_dir, count) = (Arc::clone(&hosts), dir.join("floor"), args.floor_urls);
    let floor = tokio::task::spawn_blocking(move || {
        let jobs = jobs(&for_floor, load, count)?;
        floor::run(&floor_dir, &jobs, &[], load.writers)
    });
    let floor = floor
        .await
        .map_err(|e| CommandError::of("the floor failed", e))??;
    let figure = offered.new as f64 / offered.measured.seconds;
    let detail = json!({
        "run": offered.detail(),
        "floor": floor.detail(),
        "a_cpu_second": floor.by_cpu(offered.new, &offered.measured),
    });
    Outcome::new(
        about(args.replicas),
        (figure, floor.per_second),
        &offered.measured,
        args,
        detail,
    )
}

/// What the first calls of the writers cost, in the order in which they come round.
fn jobs(hosts: &Hosts, load: Load, count: u64) -> Result<Vec<Job>, CommandError> {
    let mut models = hosts
        .ranges
        .iter()
        .map(|range| Model::new(*range, impatient()))
        .collect::<Result<Vec<_>, _>>()?;
    let batch = load.batch as u64;
    let mut jobs = Vec::new();
    for call in 0..count.div_ceil(batch * load.writers as u64) {
        for number in 0..load.writers {
            let Some(stream) = hosts.stream(number, load.skew) else {
                continue;
            };
            let Some(place) = hosts
                .ranges
                .iter()
                .position(|range| range.shard == stream.shard)
            else {
                continue;
            };
            let links = (call * batch..(call + 1) * batch).map(|index| stream.link(index));
            models[place].now_ms += 1;
            let (_, cost) = models[place].apply_counted(model::discover(links)?)?;
            jobs.push(Job::of(&cost, batch));
        }
    }
    Ok(jobs)
}
