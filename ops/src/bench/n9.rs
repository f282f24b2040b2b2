//! N9: the pause that fetchers see while a shard splits.

use super::cluster::BenchCluster;
use super::following::{Following, Grant, Seen};
use super::gaps;
use super::measure::Meter;
use super::outcome::{About, Outcome, rounded};
use super::prepared;
use super::target::Target;
use super::urls::Hosts;
use crate::drill::Splitter;
use crate::output::CommandError;
use proto::admin_v1 as pb;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "n9",
    what: "the longest time between two leases of the hosts of either half of a shard, the later, around its split; three \
           node processes",
    unit: "ms",
    floor_is: "the same longest time in the same run, before the split",
    reach: "< 200 ms",
};

/// Nodes.
const NODES: u32 = 3;
/// Hosts of a site.
const HOSTS_PER_SITE: u32 = 2;
/// The floor is measured from here on.
const WARM_UP: Duration = Duration::from_secs(2);
/// A pause counts as the split's until so long after its job's end.
const AFTERMATH: Duration = Duration::from_secs(1);
/// How long the job may take.
const JOB_WITHIN: Duration = Duration::from_secs(60);

/// Arguments of `n9`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Hosts, all with robots allowed, ready at once, one millisecond between contacts: politeness is not what is measured.
    #[arg(long, default_value_t = 60_000, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// URLs queued on each host.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub urls_per_host: u32,
    /// Lease and report pairs a second, one lease a call.
    #[arg(long, default_value_t = 500, value_parser = crate::numbers::positive::<u64>)]
    pub rate: u64,
    /// Time of the run, s; the split is asked for in its middle.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(6..=3_600))]
    pub seconds: u64,
}

/// A split that was carried out, times since the start of the load.
struct Split {
    asked: Duration,
    ended: Duration,
    at: u64,
    child: u64,
}

/// Runs N9.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let loading = Instant::now();
    let cluster = loaded(args, &dir.join("nodes")).await?;
    let load_seconds = loading.elapsed().as_secs_f64();
    let nodes = cluster.control.nodes().values();
    let addresses: Vec<String> = nodes.map(|node| node.address().to_owned()).collect();
    let splitter = Splitter::at(&addresses)?;
    let (meter, cpu_before) = (Meter::start(), cluster.nodes_cpu_seconds());
    let following = Following::new(cluster.router().await?);
    let lasting = Duration::from_secs(args.seconds);
    let load = Arc::clone(&following).run(args.rate, lasting);
    let (seen, split) = tokio::try_join!(load, split(&splitter, following.started(), lasting / 2))?;
    let mut measured = meter.stop();
    measured.cpu_seconds += cluster.nodes_cpu_seconds() - cpu_before;
    cluster.control.refresh_map().await?;
    let terms = cluster.terms().await?;
    let shards = cluster.control.shards().len();
    let before = Halves::of(&seen.grants, split.at, WARM_UP, split.asked);
    let around = Halves::of(&seen.grants, split.at, split.asked, split.ended + AFTERMATH);
    let after = Halves::of(&seen.grants, split.at, split.ended + AFTERMATH, lasting);
    let detail = json!({
        "split_asked_s": rounded(split.asked.as_secs_f64()),
        "job_ms": ms(split.ended.saturating_sub(split.asked)),
        "child": split.child,
        "before": before.detail(),
        "around": around.detail(),
        "after": after.detail(),
        "load": detail(seen),
        "shards_at_the_end": shards,
        "queued_at_the_end": terms.queued,
        "leased_at_the_end": terms.leased,
        "done_at_the_end": terms.done,
        "load_seconds": rounded(load_seconds),
    });
    Target::Cluster(Box::new(cluster)).close().await?;
    let figures = (ms(around.later()), ms(before.later()));
    Outcome::new(ABOUT, figures, &measured, args, detail)
}

/// Three nodes with one shard that is full of ready hosts.
async fn loaded(args: &Args, dir: &Path) -> Result<BenchCluster, CommandError> {
    let urls = u64::from(args.hosts) * u64::from(args.urls_per_host);
    let target = Target::open(NODES, dir, 1, urls).await?;
    let (dirs, closed) = target.set_down(dir).await?;
    let (hosts, urls_per_host) = (args.hosts, args.urls_per_host);
    let loading = tokio::task::spawn_blocking(move || {
        let hosts = Hosts::new(hosts, hosts / HOSTS_PER_SITE, 1);
        let shards = prepared::all(&hosts, urls_per_host)?;
        let models: Vec<_> = shards.iter().map(|shard| &shard.model).collect();
        for dir in &dirs {
            prepared::load(dir, &models)?;
        }
        Ok::<_, CommandError>(())
    });
    loading
        .await
        .map_err(|e| CommandError::of("loading failed", e))??;
    let target = closed.open(1, urls).await?;
    target.wait_for_filter().await?;
    match target {
        Target::Cluster(cluster) => Ok(*cluster),
        Target::One(_) => Err(CommandError::Message("a cluster was expected".to_owned())),
    }
}

/// Asks for a split when it is time, and waits for its end.
async fn split(
    splitter: &Splitter,
    started: Instant,
    when: Duration,
) -> Result<Split, CommandError> {
    let shard = 1;
    tokio::time::sleep_until((started + when).into()).await;
    let asked = started.elapsed();
    let failed = |why: String| CommandError::Message(format!("shard {shard} was not split: {why}"));
    let begun = splitter.begin(shard).await.map_err(failed)?;
    let job = splitter.ended(begun.job, JOB_WITHIN).await;
    let job = job.ok_or_else(|| failed("its job does not end".to_owned()))?;
    if job.state() != pb::JobState::Done {
        return Err(failed(job.reason));
    }
    Ok(Split {
        asked,
        ended: started.elapsed(),
        at: job.at,
        child: job.child,
    })
}

/// The longest time without a lease in a part of the run.
#[derive(Clone, Copy, Debug)]
struct Halves {
    lower: Duration,
    upper: Duration,
    both: Duration,
}

impl Halves {
    fn of(grants: &[Grant], at: u64, from: Duration, to: Duration) -> Self {
        let longest = |of: &dyn Fn(&Grant) -> bool| {
            let times = grants.iter().filter(|grant| of(grant));
            let mut times: Vec<Duration> = times.map(|grant| grant.after).collect();
            times.sort_unstable();
            gaps::longest(&times, from, to)
        };
        Self {
            lower: longest(&|grant| grant.partition < at),
            upper: longest(&|grant| grant.partition >= at),
            both: longest(&|_| true),
        }
    }

    fn later(self) -> Duration {
        self.lower.max(self.upper)
    }

    fn detail(self) -> serde_json::Value {
        json!({
            "longest_of_the_parents_half_ms": ms(self.lower),
            "longest_of_the_childs_half_ms": ms(self.upper),
            "longest_of_all_ms": ms(self.both),
        })
    }
}

fn detail(seen: Seen) -> serde_json::Value {
    let granted = seen.grants.len();
    let lease = seen.lease.summary_ms();
    json!({
        "granted": granted,
        "lease_p50_ms": lease.0,
        "lease_p99_ms": lease.1,
        "lease_worst_ms": lease.2,
        "empty_lease_calls": seen.empty,
        "reports_sent_to_the_child": seen.moved,
        "leases_lost": seen.lost,
        "dropped": seen.dropped,
    })
}

fn ms(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1_000.0)
}
