//! `escapement demo`: three nodes and two fetchers crawl a fake web on this machine, leaders are killed while they do, and a
//! table of what the web saw says whether every promise held.

use crate::drill::{
    Common, EXIT_BROKEN, NextLease, Plan, Rig, Verdict, WorkingDirectory, kill_a_leader,
    until_stopped,
};
use crate::duration;
use crate::output::{self, CommandError};
use ::fakeweb::Features;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What one kill takes, its node's return included, about.
const ROUND: Duration = Duration::from_secs(7);
/// After the last kill.
const REST: Duration = Duration::from_secs(5);
/// Between two kills.
const BETWEEN: Duration = Duration::from_secs(3);
/// Attempts of a URL that never gives a whole answer.
const ATTEMPTS: u32 = 4;
/// The crawl is over when nothing becomes ready within this time; robots files that answer 5xx are asked for again and again.
const PATIENCE: Duration = Duration::from_secs(6);
/// Shards of the cluster.
const SHARDS: u32 = 4;

/// Arguments of `demo`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 every promise held, 1 failed, 2 a promise broke or the command line is wrong."
)]
pub struct Args {
    /// Hosts of the fake web.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    hosts: u32,
    /// Seed of the fake web and of the leaders that are killed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often the leader of a shard is killed.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    kills: u32,
    /// Least time between two contacts of a host.
    #[arg(long, default_value = "1s", value_parser = duration::parse_positive)]
    delay: Duration,
    /// Keep directories, logs and the arrival log here.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the demo; fails when a promise broke.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let directory = WorkingDirectory::new(args.out.as_deref())?;
    let (verdict, next_lease) = until_stopped(async {
        let mut rig = Box::pin(Rig::start(plan(args), directory.path())).await?;
        let mut next_lease = Vec::new();
        for kill in 1..=args.kills {
            next_lease.push(kill_a_leader(&mut rig, kill).await?);
            rig.settle(BETWEEN).await?;
        }
        output::note("the rest of the crawl, undisturbed");
        Ok((Box::pin(rig.finish()).await?, next_lease))
    })?;
    let next_lease = NextLease::of(&next_lease);
    if args.json {
        output::line(json_of(args, &verdict, next_lease)?)?;
    } else {
        output::line(next_lease)?;
        output::line(&verdict)?;
    }
    Ok(if verdict.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_BROKEN)
    })
}

/// Everything that a fake web has, for as long as the kills take.
fn plan(args: &Args) -> Plan {
    let common = Common {
        rounds: None,
        json: args.json,
        hosts: args.hosts,
        delay: args.delay,
        shards: SHARDS,
        seed: args.seed,
        out: None,
    };
    let plan = Plan::lasting(ROUND * args.kills + REST, &common);
    Plan {
        mean_pages: plan.pages_per_host / 2,
        features: Features::default(),
        attempts: ATTEMPTS,
        response_time_factor_tenths: 0,
        patience: PATIENCE,
        ..plan
    }
}

/// For scripts.
fn json_of(args: &Args, verdict: &Verdict, next: NextLease) -> Result<String, CommandError> {
    let value = json!({
        "holds": verdict.holds(),
        "kills": args.kills,
        "early_contacts": verdict.web.totals.early_contacts,
        "lost_urls": verdict.lost.len(),
        "repeats": verdict.repeats,
        "lost_leases": verdict.lost_leases,
        "longest_pause_ms": verdict.longest_pause.map(|pause| pause.as_millis() as u64),
        "next_lease_ms": next,
        "web": &verdict.web.totals,
        "outcomes": &verdict.outcomes.totals,
    });
    serde_json::to_string(&value).map_err(|e| CommandError::of("cannot write JSON", e))
}
