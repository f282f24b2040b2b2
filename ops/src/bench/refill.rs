//! A follower whose disk was lost is fed its shard again, while writes go on.

use super::background::Offers;
use super::cluster::{BenchCluster, Shape};
use super::measure::{Measured, Meter, forget_peak_of, peak_bytes_of, resident_bytes_of};
use super::node::{NodeMetrics, impatient};
use super::outcome::{About, Outcome, ratio, rounded};
use super::preload::Preload;
use super::table_copy;
use super::target::Target;
use super::urls::Spread;
use crate::output::{self, CommandError};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const ABOUT: About = About {
    bench: "refill",
    what: "a shard fed to a follower that lost its disk, three nodes, while writes go on",
    unit: "URLs/s",
    floor_is: "the tables of the sender's state copied file by file and synced",
    reach: "memory of both sides stays under the bound; live followers take no snapshot",
};

/// How long it may take.
const WITHIN: Duration = Duration::from_secs(1_800);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Arguments of `refill`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// URLs of the shard.
    #[arg(long, default_value_t = 5_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub urls: u64,
    /// Writers that offer them before.
    #[arg(long, default_value_t = 16, value_parser = crate::numbers::positive::<usize>)]
    pub writers: usize,
    /// Writers that go on meanwhile.
    #[arg(long, default_value_t = 2)]
    pub writers_meanwhile: usize,
    /// Kill the receiver in mid-stream once; it starts again.
    #[arg(long = "break")]
    #[serde(rename = "break")]
    pub break_once: bool,
    /// With `--break`: after how many bytes of the stream.
    #[arg(long, default_value_t = 16 << 20, value_parser = crate::numbers::positive::<u64>)]
    pub break_after_bytes: u64,
    /// What each side may need beyond what it held before, MiB.
    #[arg(long, default_value_t = 256, value_parser = crate::numbers::positive::<u64>)]
    pub bound_mib: u64,
    #[command(flatten)]
    #[serde(flatten)]
    pub spread: Spread,
}

/// Who does what.
#[derive(Debug, Clone, Copy)]
struct Roles {
    shard: u64,
    sender: u32,
    receiver: u32,
    live: u32,
}

impl Roles {
    async fn of(cluster: &BenchCluster) -> Result<Self, CommandError> {
        let shard = cluster.control.shards().first().copied().unwrap_or(1);
        let sender = cluster.control.wait_leader(shard).await?;
        let numbers = cluster.processes.node_numbers().into_iter();
        let others: Vec<u32> = numbers.filter(|number| *number != sender).collect();
        let [live, receiver] = others[..] else {
            return Err(CommandError::Message("three nodes are needed".to_owned()));
        };
        Ok(Self {
            shard,
            sender,
            receiver,
            live,
        })
    }
}

/// Memory of one side, bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    before: u64,
    peak: u64,
}

impl Side {
    fn growth(self) -> u64 {
        self.peak.saturating_sub(self.before)
    }

    fn detail(self) -> Value {
        json!({ "before": self.before, "peak": self.peak, "growth": self.growth() })
    }
}

/// What the feeding took.
struct Fed {
    seconds: f64,
    sender: Side,
    receiver: Side,
    broken_after_bytes: Option<u64>,
}

/// Runs the refill.
pub async fn run(args: &Args, dir: &Path) -> Result<Outcome, CommandError> {
    let shape = Shape::nodes(3, 1, args.urls + args.urls / 4);
    let cluster = BenchCluster::start(&shape, dir).await?;
    cluster.control.set_policy(&impatient()).await?;
    let target = Target::Cluster(Box::new(cluster));
    let load = Preload::new(&target, args.writers, args.spread);
    load.offer(&target, 0..args.urls).await?;
    let offers = Offers::prepare(&target, &load, args.writers_meanwhile, args.urls).await?;
    let Target::Cluster(mut cluster) = target else {
        return Err(CommandError::Message("a cluster was expected".to_owned()));
    };
    let roles = Roles::of(&cluster).await?;
    let before = [
        cluster.node_metrics(roles.sender).await?,
        cluster.node_metrics(roles.live).await?,
    ];
    cluster.processes.kill_node(roles.receiver)?;
    cluster.processes.wipe_node(roles.receiver)?;
    let (meter, offers) = (Meter::start(), offers.start());
    let fed = feed(args, &mut cluster, roles, &before).await?;
    let meanwhile = offers.stop().await?;
    cluster
        .control
        .wait_caught_up(roles.receiver, WITHIN)
        .await?;
    let accepted = accepted_by_node(&cluster, roles.shard).await;
    let after = [
        cluster.node_metrics(roles.sender).await?,
        cluster.node_metrics(roles.live).await?,
        cluster.node_metrics(roles.receiver).await?,
    ];
    let sender_dir = cluster.node_dir(roles.sender);
    cluster.stop_nodes().await?;
    let copy_dir = dir.join("copy");
    let copied = tokio::task::spawn_blocking(move || table_copy::run(&sender_dir, &copy_dir));
    let copied = copied
        .await
        .map_err(|e| CommandError::of("the floor failed", e))??;
    let measured = Measured {
        seconds: fed.seconds,
        peak_memory_bytes: fed.sender.peak.max(fed.receiver.peak),
        ..meter.stop()
    };
    let counters = counters(&before, &after);
    let detail = json!({
        "fed": detail(args, &fed, &before, &after),
        "counters": counters,
        "accepted_by_node": accepted,
        "offered_meanwhile": meanwhile,
        "floor": { "bytes": copied.bytes, "seconds": rounded(copied.seconds) },
    });
    let urls = args.urls as f64;
    let figures = (ratio(urls, fed.seconds), ratio(urls, copied.seconds));
    Outcome::new(ABOUT, figures, &measured, args, detail)
}

/// Starts the receiver and waits until it has all; breaks the stream once, if that is asked for.
async fn feed(
    args: &Args,
    cluster: &mut BenchCluster,
    roles: Roles,
    before: &[NodeMetrics; 2],
) -> Result<Fed, CommandError> {
    let sender_pid = cluster.processes.node_pid(roles.sender).unwrap_or(0);
    forget_peak_of(sender_pid);
    let resident = resident_bytes_of(sender_pid);
    let started = Instant::now();
    let mut receiver = start_receiver(cluster, roles).await?;
    let mut broken_after_bytes = None;
    if args.break_once {
        broken_after_bytes = Some(mid_stream(args, cluster, roles, before).await?);
        receiver.peak = peak_bytes_of(cluster.processes.node_pid(roles.receiver).unwrap_or(0));
        cluster.processes.kill_node(roles.receiver)?;
        output::note(format_args!(
            "the stream was broken; the receiver starts again"
        ));
        let again = start_receiver(cluster, roles).await?;
        receiver.before = receiver.before.min(again.before);
    }
    cluster
        .control
        .wait_caught_up(roles.receiver, WITHIN)
        .await?;
    let seconds = started.elapsed().as_secs_f64();
    let receiver_pid = cluster.processes.node_pid(roles.receiver).unwrap_or(0);
    receiver.peak = receiver.peak.max(peak_bytes_of(receiver_pid));
    Ok(Fed {
        seconds,
        sender: Side {
            before: resident,
            peak: peak_bytes_of(sender_pid),
        },
        receiver,
        broken_after_bytes,
    })
}

/// Starts the receiver; its memory as soon as it is ready.
async fn start_receiver(cluster: &mut BenchCluster, roles: Roles) -> Result<Side, CommandError> {
    cluster.processes.start_node(roles.receiver)?;
    cluster.processes.wait_node(roles.receiver).await?;
    let pid = cluster.processes.node_pid(roles.receiver).unwrap_or(0);
    Ok(Side {
        before: resident_bytes_of(pid),
        peak: 0,
    })
}

/// Waits until so much of the stream is sent; how much it was.
async fn mid_stream(
    args: &Args,
    cluster: &BenchCluster,
    roles: Roles,
    before: &[NodeMetrics; 2],
) -> Result<u64, CommandError> {
    let sent_before = before[0].node("raft_snapshot_bytes_sent");
    let until = Instant::now() + WITHIN;
    while Instant::now() < until {
        let metrics = cluster.node_metrics(roles.sender).await?;
        let sent = metrics.node("raft_snapshot_bytes_sent") - sent_before;
        if sent >= args.break_after_bytes as f64 {
            return Ok(sent as u64);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(CommandError::Message(
        "the sender sent no snapshot".to_owned(),
    ))
}

fn detail(args: &Args, fed: &Fed, before: &[NodeMetrics; 2], after: &[NodeMetrics; 3]) -> Value {
    let bound = args.bound_mib << 20;
    let sent = |m: &NodeMetrics| m.node("raft_snapshot_bytes_sent");
    let bytes = sent(&after[0]) - sent(&before[0]) + sent(&after[1]) - sent(&before[1]);
    json!({
        "seconds": rounded(fed.seconds),
        "bytes_sent": bytes,
        "bytes_a_second": rounded(ratio(bytes, fed.seconds)),
        "broken_after_bytes": fed.broken_after_bytes,
        "sender_memory_bytes": fed.sender.detail(),
        "receiver_memory_bytes": fed.receiver.detail(),
        "bound_bytes": bound,
        "within_bound": fed.sender.growth() <= bound && fed.receiver.growth() <= bound,
    })
}

/// Snapshots of each node since the disk was lost; the receiver is a new process.
fn counters(before: &[NodeMetrics; 2], after: &[NodeMetrics; 3]) -> Value {
    let grown = |place: usize, what: &str| after[place].log(what) - before[place].log(what);
    json!({
        "sender_snapshots_begun": grown(0, "snapshots_sent"),
        "sender_snapshots_installed": grown(0, "snapshots_installed"),
        "sender_rows_in_memory_peak_bytes": after[0].node("snapshot_out_peak_bytes"),
        "live_follower_snapshots_begun": grown(1, "snapshots_sent"),
        "live_follower_snapshots_installed": grown(1, "snapshots_installed"),
        "receiver_snapshots_installed": after[2].log("snapshots_installed"),
        "receiver_rows_in_memory_peak_bytes": after[2].node("snapshot_in_peak_bytes"),
    })
}

/// URLs that each node has accepted, as its own replica shows it.
async fn accepted_by_node(cluster: &BenchCluster, shard: u64) -> Vec<(u32, u64)> {
    let statuses = cluster.control.all_statuses(shard).await.into_iter();
    statuses
        .map(|(node, status)| (node, status.terms.unwrap_or_default().accepted))
        .collect()
}
