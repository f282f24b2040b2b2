//! Which drill, and what all drills may be told.

use super::kill_crawl;
use crate::duration;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `drill`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 every promise held, 1 failed, 2 a promise broke or the command line is wrong, 3 refused: \
        this machine or user cannot do it (partition and disk-full need root)."
)]
pub struct Args {
    #[command(subcommand)]
    pub drill: Name,
}

/// The drills.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Name {
    /// SIGKILL to the process that leads a shard; measures the time to that shard's next lease.
    KillLeader(Common),
    /// SIGKILL to all nodes at once.
    KillAll(Common),
    /// SIGSTOP to the process that leads a shard, SIGCONT after another one leads.
    PauseLeader(Common),
    /// SIGSTOP to a fetcher until its leases are over, then SIGCONT: it must not contact late.
    PauseFetcher(Common),
    /// Cuts nodes off from each other, both ways and one way; needs root, for network namespaces.
    Partition(Common),
    /// Nodes whose clocks are hours apart and run at different rates, leaders killed.
    ClockSkew(Common),
    /// Fills the disk of a node, then of two; needs root, for a small file system.
    DiskFull(Common),
    /// SIGKILL to a fetcher.
    KillFetcher(Common),
    /// SIGKILL to a node with its page store and the fetcher beside it, at load.
    KillBox(Common),
    /// SIGTERM to each node in turn, started again.
    RollingRestart(Common),
    /// A node is killed, its directory emptied, and it comes back as a new replica.
    LoseADisk(Common),
    /// A busy shard is split, again and again; its leader, group 0's leader or the new shard's leader is killed at that moment.
    SplitUnderLoad(Common),
    /// A replica of a busy shard is moved, again and again; who drives it, leads it, gives or gets it is killed at a step of it.
    MoveUnderLoad(Common),
    /// A node is drained and given its place back; who drives it, the node itself or another one is killed meanwhile.
    DrainUnderLoad(Common),
    /// Empty nodes join and take their share; who drives it, then the new node is killed meanwhile.
    JoinUnderLoad(Common),
    /// `escapement crawl`, one process, killed and resumed.
    KillCrawl(kill_crawl::Args),
}

/// What all drills of a cluster may be told.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// How often; each drill has its own small default.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// End with one JSON object on stdout instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Hosts of the fake web.
    #[arg(long, default_value_t = super::limits::HOSTS, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub hosts: u32,
    /// Least time between two contacts of a host.
    #[arg(long, default_value = "1s", value_parser = duration::parse_positive)]
    pub delay: Duration,
    /// Shards of the cluster.
    #[arg(long, default_value_t = super::limits::SHARDS, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub shards: u32,
    /// Seed of the fake web and of every choice.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keep directories, logs and the arrival log here.
    #[arg(long)]
    pub out: Option<PathBuf>,
}
