//! N3: lease and report pairs a second, saturated; the latency of a lease at a fixed rate.

use super::floor::{self, Job};
use super::outcome::{About, Outcome, rounded};
use super::prepared::{self, Prepared};
use super::target::{MOST_REPLICAS, Target};
use super::urls::Hosts;
use super::{open_loop, pairs};
use crate::output::CommandError;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "n3",
    what: "lease and report pairs over gRPC, one replica, every host ready",
    unit: "pairs/s",
    floor_is: "the log and row bytes of the same lease and report calls straight to RocksDB, as many writers as \
               sessions, syncs shared",
    reach: ">= 20000 saturated (3 replicas); lease p99 < 50 ms at 2000/s open loop",
};

const fn about(replicas: u32) -> About {
    if replicas == 1 {
        return ABOUT;
    }
    About {
        what: "lease and report pairs over gRPC, several replicas, each a process, every host ready",
        floor_is: "one replica's log and row bytes of the same lease and report calls straight to RocksDB, as many \
                   writers as sessions, syncs shared",
        ..ABOUT
    }
}

/// Arguments of `n3`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Replicas: one in this process, or so many node processes on loopback.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_REPLICAS))]
    pub replicas: u32,
    /// Hosts, all with robots allowed, ready at once, one millisecond between contacts: politeness is not what is measured.
    #[arg(long, default_value_t = 250_000, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// Hosts of a site.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub hosts_per_site: u32,
    /// URLs queued on each host.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub urls_per_host: u32,
    /// Measured time of the saturated phase, s.
    #[arg(long, default_value_t = 10, value_parser = crate::numbers::positive::<u64>)]
    pub seconds: u64,
    /// Fetchers' sessions at once in that phase.
    #[arg(long, default_value_t = 32, value_parser = crate::numbers::positive::<u64>)]
    pub sessions: u64,
    /// Leases of a call in that phase, at most 256.
    #[arg(long, default_value_t = 32, value_parser = crate::numbers::positive::<u32>)]
    pub batch: u32,
    /// Pairs a second of the open loop, one lease a call.
    #[arg(long, default_value_t = 2_000, value_parser = crate::numbers::positive::<u64>)]
    pub rate: u64,
    /// Time of the open loop, s.
    #[arg(long, default_value_t = 10, value_parser = crate::numbers::positive::<u64>)]
    pub open_loop_seconds: u64,
    /// Shards of the node.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// Pairs of the floor.
    #[arg(long, default_value_t = 150_000, value_parser = crate::numbers::positive::<u64>)]
    pub floor_pairs: u64,
}

/// Runs N3.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let (node_dir, floor_dir) = (dir.join("node"), dir.join("floor"));
    let urls = u64::from(args.hosts) * u64::from(args.urls_per_host);
    let loading = Instant::now();
    let target = Target::open(args.replicas, &node_dir, args.shards, urls).await?;
    let (dirs, closed) = target.set_down(&node_dir).await?;
    let for_load = args.clone();
    let loaded = tokio::task::spawn_blocking(move || {
        let hosts = Hosts::new(
            for_load.hosts,
            for_load.hosts / for_load.hosts_per_site.max(1),
            for_load.shards,
        );
        let mut shards = prepared::all(&hosts, for_load.urls_per_host)?;
        let models: Vec<_> = shards.iter().map(|shard| &shard.model).collect();
        let mut rows = 0;
        for dir in &dirs {
            rows = prepared::load(dir, &models)?;
        }
        Ok::<_, CommandError>((rows, jobs(&mut shards, &for_load)?))
    });
    let (rows, jobs) = loaded
        .await
        .map_err(|e| CommandError::of("loading failed", e))??;
    let load_seconds = loading.elapsed().as_secs_f64();
    let opening = Instant::now();
    let target = closed.open(args.shards, urls).await?;
    let open_seconds = opening.elapsed().as_secs_f64();
    target.wait_for_filter().await?;
    let times = (Duration::from_secs(1), Duration::from_secs(args.seconds));
    let saturated = pairs::saturate(
        &target,
        args.sessions.max(1),
        args.batch.clamp(1, 256),
        times,
    )
    .await?;
    let open = open_loop::run(
        &target,
        args.rate.max(1),
        Duration::from_secs(args.open_loop_seconds),
    )
    .await?;
    let queued = target.terms().await?.queued;
    target.close().await?;
    let writers = args.sessions.max(1) as usize;
    let floor = tokio::task::spawn_blocking(move || floor::run(&floor_dir, &jobs, &[], writers));
    let floor = floor
        .await
        .map_err(|e| CommandError::of("the floor failed", e))??;
    let figure = saturated.pairs as f64 / saturated.measured.seconds;
    let detail = json!({
        "saturated": saturated.detail(),
        "open_loop": open,
        "floor": floor.detail(),
        "a_cpu_second": floor.by_cpu(saturated.pairs, &saturated.measured),
        "loaded_rows": rows,
        "load_seconds": rounded(load_seconds),
        "open_seconds": rounded(open_seconds),
        "queued_at_the_end": queued,
    });
    Outcome::new(
        about(args.replicas),
        (figure, floor.per_second),
        &saturated.measured,
        args,
        detail,
    )
}

/// What lease and report calls cost these shards, taking turns.
fn jobs(shards: &mut [Prepared], args: &Args) -> Result<Vec<Job>, CommandError> {
    let (mut jobs, mut pairs, mut idle) = (Vec::new(), 0, 0);
    while pairs < args.floor_pairs && idle < shards.len() {
        idle = 0;
        for shard in shards.iter_mut() {
            shard.model.now_ms += 1;
            let (leases, cost) = shard.lease_counted(args.batch.clamp(1, 256) as usize)?;
            if leases.is_empty() {
                idle += 1;
                continue;
            }
            jobs.push(Job::of(&cost, 0));
            let (_, cost) = shard.model.apply_counted(prepared::report(&leases))?;
            jobs.push(Job::of(&cost, leases.len() as u64));
            pairs += leases.len() as u64;
        }
    }
    Ok(jobs)
}
