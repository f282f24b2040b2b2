//! `escapement drill kill-crawl`: a crawl of a fake web in one process, killed with SIGKILL and resumed, then judged by what
//! the web server saw.

mod child;
mod judge;

use super::directory::WorkingDirectory;
use super::limits::EXIT_BROKEN;
use crate::duration;
use crate::output::{self, CommandError};
use crate::records;
use ::fakeweb::{FakeWeb, FakeWebOptions, Manifest, RunningFakeWeb};
use child::Crawl;
use judge::{Kills, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Attempts of a URL that no kill takes one of: what is leased at a kill may have been contacted, and counts.
const ATTEMPTS: u32 = 3;

/// Arguments of `drill kill-crawl`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Hosts of the fake web.
    #[arg(long, default_value_t = 40, value_parser = crate::numbers::positive::<u32>)]
    hosts: u32,
    /// Seed of the fake web and of the moments of the kills.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Most URLs of one host: bounds the time.
    #[arg(long, default_value_t = 24, value_parser = crate::numbers::positive::<u32>)]
    max_pages_per_host: u32,
    /// Least time between two contacts of a host.
    #[arg(long, default_value = "1s", value_parser = duration::parse_positive)]
    delay: Duration,
    /// How often the crawl is killed.
    #[arg(long, default_value_t = 1)]
    kills: u32,
    /// Mean time from a start to a kill.
    #[arg(long, default_value = "6s", value_parser = duration::parse_positive)]
    kill_after: Duration,
    /// How long a lease lasts: what was in flight at a kill waits this long.
    #[arg(long, default_value = "8s", value_parser = duration::parse_positive)]
    lease_ttl: Duration,
    /// Keep the crawl's directory here.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the drill; fails when a promise broke.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let temporary = WorkingDirectory::new(args.out.as_deref())?;
    let dir = temporary.path();
    let mut options = FakeWebOptions::new(args.hosts, args.seed);
    options.shape.max_pages_per_host = args.max_pages_per_host;
    options.log = Some(dir.join("arrivals.jsonl"));
    let manifest =
        Manifest::of(&options).map_err(|e| CommandError::of("cannot make the fake web", e))?;
    let web =
        FakeWeb::start(options).map_err(|e| CommandError::of("cannot serve the fake web", e))?;
    output::note(format_args!(
        "a fake web of {} hosts and {} URLs at {}; each host at most once in {} ms",
        args.hosts,
        manifest.entries.len(),
        web.addr,
        args.delay.as_millis()
    ));
    let crawl = Crawl {
        out: dir.join("crawl"),
        seed_url: web.seed_url.clone(),
        web: web.addr,
        delay: args.delay,
        lease_ttl: args.lease_ttl,
        attempts: ATTEMPTS.saturating_add(args.kills),
    };
    let kills = kill_and_resume(args, &crawl, &web)?;
    let summary = crawl.run_to_end()?;
    let outcomes = records::outcomes(&crawl.out)?;
    let arrivals = web.arrivals();
    web.shutdown()
        .map_err(|e| CommandError::io("cannot write the arrival log", e))?;
    let verdict = Verdict::of(arrivals, &manifest, outcomes, &kills, &crawl);
    if args.json {
        output::line(verdict.json(&summary)?)?;
    } else {
        output::line(verdict.table(&summary))?;
    }
    Ok(if verdict.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_BROKEN)
    })
}

/// Starts the crawl, kills it at a moment the seed chooses, notes what was in flight; as often as asked.
fn kill_and_resume(
    args: &Args,
    crawl: &Crawl,
    web: &RunningFakeWeb,
) -> Result<Kills, CommandError> {
    let mut kills = Kills::default();
    let mut rng = args.seed | 1;
    for round in 1..=args.kills {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        // Between half and one and a half of the mean.
        let after = args.kill_after / 2 + args.kill_after.mul_f64((rng % 1_000) as f64 / 1_000.0);
        let Some(requests) = crawl.run_and_kill(after, web)? else {
            output::note(format_args!(
                "round {round}: the crawl ended before its kill"
            ));
            return Ok(kills);
        };
        let leased = records::leased(&crawl.out)?;
        output::note(format_args!(
            "round {round}: SIGKILL after {:.1} s and {requests} requests; {} leases were out, conservation holds",
            after.as_secs_f64(),
            leased.len()
        ));
        kills.add(leased);
    }
    Ok(kills)
}
