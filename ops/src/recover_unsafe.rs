//! `escapement recover-unsafe`: a stopped node goes on alone with groups whose other replicas are lost for good.

use crate::output::{self, CommandError};
use frontier_node::{Lost, RecoveredGroup, UnsafeRecovery, recover_unsafe};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Said before anything is done, and in the documentation.
const WHAT_MAY_BE_LOST: &str = "What only the lost replicas had is lost: the newest accepted URLs and ended leases, for as long as this node was \
behind, and back-offs that hosts asked for since. Every host waits ten minutes, for leases that may be lost. If a majority of \
the other replicas is not gone for good, both sides will serve and hosts are contacted twice. \
Restart every fetcher, for each remembers links that were taken. Choose the node that has applied most (escapement_shard{what=\"applied_index\"}, or the last_index that this prints).";

/// Arguments of `recover-unsafe`.
#[derive(Debug, clap::Args)]
#[command(after_help = WHAT_MAY_BE_LOST)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// The directory of a node that is stopped.
    #[arg(long)]
    dir: PathBuf,
    /// A shard that lost its quorum for good; once for each. The cluster's own group must have its quorum.
    #[arg(long = "shard", group = "which", value_parser = clap::value_parser!(u64).range(1..))]
    shards: Vec<u64>,
    /// All groups of the directory, the cluster's own too.
    #[arg(long, group = "which")]
    all: bool,
    /// Yes, the others are gone for good.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `recover-unsafe`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    if !args.yes {
        return Err(CommandError::Refused(format!(
            "say --yes if the others are gone for good. {WHAT_MAY_BE_LOST}"
        )));
    }
    let lost = if args.all {
        Lost::All
    } else {
        Lost::Shards(args.shards.iter().copied().collect())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CommandError::io("cannot start", error))?;
    let recovered = runtime.block_on(recover_unsafe(&args.dir, &lost));
    let recovered = recovered.map_err(|error| CommandError::of("not recovered", error))?;
    show(args, &recovered)?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Args, done: &UnsafeRecovery) -> Result<(), CommandError> {
    if args.json {
        let groups: Vec<_> = done
            .recovered
            .iter()
            .map(|one| {
                json!({
                    "group": one.group, "replica": format!("{:016x}", one.replica), "last_index": one.last_index,
                })
            })
            .collect();
        return output::line(json!({ "groups": groups, "never_fed": done.never_fed }));
    }
    for group in &done.never_fed {
        output::line(format_args!(
            "group {group} has nothing here to go on from: it stays as it is"
        ))?;
    }
    for one in &done.recovered {
        let RecoveredGroup {
            group,
            replica,
            last_index,
        } = one;
        output::line(format_args!(
            "group {group} goes on from entry {last_index} as replica {replica:x} alone"
        ))?;
    }
    let next = if args.all {
        "start the node, then ctl replace each lost node"
    } else {
        "start the node, then ctl adopt each of these shards"
    };
    output::line(next)
}
