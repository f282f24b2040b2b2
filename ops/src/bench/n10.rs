//! N10: what a node costs that has nothing to do.

use super::cluster::{BenchCluster, Shape};
use super::idle_floor;
use super::measure::{Measured, cpu_seconds_of, resident_bytes_of};
use super::outcome::{About, Outcome, rounded};
use crate::output::CommandError;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "n10",
    what: "CPU of an idle node, three nodes with a replica of every shard; the busiest of them",
    unit: "% of a core",
    floor_is: "as many messages of the size of such a batch of heartbeats a second over TCP between two bare tasks",
    reach: "< 5 % of a core with 64 replicas",
};

/// Arguments of `n10`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Shards, and so replicas of each node.
    #[arg(long, default_value_t = 64, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// Nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub replicas: u32,
    /// Time before the measured one, s.
    #[arg(long, default_value_t = 15)]
    pub settle_seconds: u64,
    /// Measured time, s; that of the floor too.
    #[arg(long, default_value_t = 30, value_parser = crate::numbers::positive::<u64>)]
    pub seconds: u64,
}

/// Runs N10.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let shape = Shape::nodes(args.replicas, args.shards, 1_000_000);
    let mut cluster = BenchCluster::start(&shape, dir).await?;
    tokio::time::sleep(Duration::from_secs(args.settle_seconds)).await;
    let numbers = cluster.processes.node_numbers();
    let pids = numbers
        .iter()
        .filter_map(|number| cluster.processes.node_pid(*number));
    let pids: Vec<u32> = pids.collect();
    let cpu = || pids.iter().map(|pid| cpu_seconds_of(*pid));
    let metrics_before = cluster.metrics().await?;
    let (before, started) = (cpu().collect::<Vec<f64>>(), Instant::now());
    tokio::time::sleep(Duration::from_secs(args.seconds)).await;
    let seconds = started.elapsed().as_secs_f64();
    let used: Vec<f64> = cpu().zip(&before).map(|(now, then)| now - then).collect();
    let metrics = cluster.metrics().await?;
    let resident = pids.iter().map(|pid| resident_bytes_of(*pid)).max();
    cluster.stop_nodes().await?;
    let percent = |cpu_seconds: &f64| cpu_seconds / seconds * 100.0;
    let busiest = used.iter().map(percent).fold(0.0, f64::max);
    let node = |what: &str| metrics.node(what) - metrics_before.node(what);
    let (batches, beats) = (node("raft_heartbeat_batches"), node("raft_heartbeats_sent"));
    let nodes = f64::from(args.replicas);
    let floor = idle_floor::run(
        batches / nodes / seconds,
        beats / batches.max(1.0),
        Duration::from_secs(args.seconds),
    )
    .await?;
    let log = |what: &str| metrics.log(what) - metrics_before.log(what);
    let detail = json!({
        "percent_by_node": used.iter().map(|cpu| rounded(percent(cpu))).collect::<Vec<_>>(),
        "heartbeats_a_second_and_node": rounded(beats / nodes / seconds),
        "heartbeat_batches_a_second_and_node": rounded(batches / nodes / seconds),
        "appends_sent": node("raft_appends_sent"),
        "entries": log("entries"),
        "fsyncs": log("fsyncs"),
        "elections": metrics.get("escapement_elections_won_total")
            - metrics_before.get("escapement_elections_won_total"),
        "resident_bytes": resident,
    });
    let measured = Measured {
        seconds,
        cpu_seconds: used.iter().sum(),
        peak_memory_bytes: resident.unwrap_or(0),
    };
    Outcome::new(ABOUT, (busiest, floor), &measured, args, detail)
}
