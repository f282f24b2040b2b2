//! N2: known URLs dropped a second over gRPC.

use super::floor::{self, Job};
use super::model::{self, Model};
use super::node::impatient;
use super::offering::{self, Batches, Load};
use super::outcome::{About, Outcome};
use super::rng::mix;
use super::target::{MOST_REPLICAS, Target};
use super::urls::{Hosts, Spread};
use crate::output::CommandError;
use raftlog::RowBatch;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ABOUT: About = About {
    bench: "n2",
    what: "known URLs dropped over gRPC, one replica, among a few new ones",
    unit: "URLs/s",
    floor_is: "each batch's seen rows looked up in RocksDB, then the log and row bytes of its new URLs written, same \
               writers and batches, syncs shared",
    reach: ">= 100000",
};

const fn about(replicas: u32) -> About {
    if replicas == 1 {
        return ABOUT;
    }
    About {
        what: "known URLs dropped over gRPC, several replicas, each a process, among a few new ones",
        ..ABOUT
    }
}

/// Arguments of `n2`.
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
    /// Known URLs of a hundred.
    #[arg(long, default_value_t = 95, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub known_percent: u64,
    /// URLs known before.
    #[arg(long, default_value_t = 500_000, value_parser = crate::numbers::positive::<u64>)]
    pub known_urls: u64,
    /// Shards of the node.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u64>)]
    pub shards: u64,
    /// URLs the node's filter is sized for.
    #[arg(long, default_value_t = 10_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub expected_urls: u64,
    /// Calls of the floor.
    #[arg(long, default_value_t = 8_000, value_parser = crate::numbers::positive::<u64>)]
    pub floor_calls: u64,
    #[command(flatten)]
    #[serde(flatten)]
    pub spread: Spread,
}

/// Which URLs of a stream are offered: the first `known` were before.
#[derive(Debug, Clone, Copy)]
struct Mixed {
    known: u64,
    batch: u64,
    new_a_batch: u64,
}

impl Mixed {
    fn indexes(self, call: u64) -> impl Iterator<Item = u64> {
        (0..self.batch).map(move |place| {
            if place < self.new_a_batch {
                self.known + call * self.new_a_batch + place
            } else {
                mix(call * self.batch + place) % self.known.max(1)
            }
        })
    }
}

/// Runs N2.
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
    let mixed = Mixed {
        known: args.known_urls.div_ceil(load.writers as u64).max(1),
        batch: load.batch as u64,
        new_a_batch: load.batch as u64 * (100 - args.known_percent.min(100)) / 100,
    };
    offering::preload(&target, &hosts, load, 0..mixed.known).await?;
    let batches: Batches = Arc::new(move |stream, call| stream.items(mixed.indexes(call)));
    let offered = offering::offer(&target, &hosts, load, &batches).await?;
    target.close().await?;
    let (for_floor, floor_dir, calls) = (Arc::clone(&hosts), dir.join("floor"), args.floor_calls);
    let floor = tokio::task::spawn_blocking(move || {
        let (loaded, jobs) = jobs(&for_floor, load, mixed, calls)?;
        floor::run(&floor_dir, &jobs, &loaded, load.writers)
    });
    let floor = floor
        .await
        .map_err(|e| CommandError::of("the floor failed", e))??;
    let figure = offered.known as f64 / offered.measured.seconds;
    let detail = json!({
        "run": offered.detail(),
        "floor": floor.detail(),
        "a_cpu_second": floor.by_cpu(offered.known, &offered.measured),
    });
    Outcome::new(
        about(args.replicas),
        (figure, floor.per_second),
        &offered.measured,
        args,
        detail,
    )
}

/// The rows of the known URLs, and what the first calls of the writers cost.
fn jobs(
    hosts: &Hosts,
    load: Load,
    mixed: Mixed,
    calls: u64,
) -> Result<(Vec<RowBatch>, Vec<Job>), CommandError> {
    let mut models = hosts
        .ranges
        .iter()
        .map(|range| Model::new(*range, impatient()))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut loaded, mut jobs) = (Vec::new(), Vec::new());
    let streams = |number: usize| {
        let stream = hosts.stream(number, load.skew)?;
        let place = hosts
            .ranges
            .iter()
            .position(|range| range.shard == stream.shard)?;
        Some((stream, place))
    };
    for number in 0..load.writers {
        let Some((stream, place)) = streams(number) else {
            continue;
        };
        for first in (0..mixed.known).step_by(load.batch) {
            let links =
                (first..mixed.known.min(first + mixed.batch)).map(|index| stream.link(index));
            loaded.push(
                models[place]
                    .apply_counted(model::discover(links)?)?
                    .1
                    .batch(),
            );
        }
    }
    for call in 0..calls.div_ceil(load.writers as u64) {
        for number in 0..load.writers {
            let Some((stream, place)) = streams(number) else {
                continue;
            };
            let indexes: Vec<u64> = mixed.indexes(call).collect();
            let looked_up = model::seen_keys(&model::discover(
                indexes.iter().map(|index| stream.link(*index)),
            )?);
            let new: Vec<u64> = indexes
                .into_iter()
                .filter(|index| *index >= mixed.known)
                .collect();
            let units = mixed.batch - new.len() as u64;
            let mut job = Job {
                units,
                ..Job::default()
            };
            if !new.is_empty() {
                models[place].now_ms += 1;
                let body = model::discover(new.into_iter().map(|index| stream.link(index)))?;
                job = Job::of(&models[place].apply_counted(body)?.1, units);
            }
            jobs.push(Job { looked_up, ..job });
        }
    }
    Ok((loaded, jobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_twenty_is_new_and_comes_once() {
        let mixed = Mixed {
            known: 1_000,
            batch: 256,
            new_a_batch: 12,
        };
        let mut new: Vec<u64> = (0..10)
            .flat_map(|call| mixed.indexes(call))
            .filter(|index| *index >= 1_000)
            .collect();
        assert_eq!(new.len(), 120);
        new.dedup();
        assert_eq!(new, (1_000..1_120).collect::<Vec<_>>());
    }
}
