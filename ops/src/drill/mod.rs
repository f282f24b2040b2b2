//! `escapement drill NAME`: one thing is broken on real processes, again and again, while they crawl a fake web; then the
//! crawl comes to its end and is judged by what the web server saw, and by what the nodes' records say.
//!
//! | file | what |
//! |---|---|
//! | `kill_leader` ... `split_under_load` | one drill each |
//! | `kill_crawl` | the one-process crawl, killed and resumed |
//! | `rig` | what every drill works on: web, cluster, watcher |
//! | `splitting`, `tiling` | splits through `admin.v1`, and what the map must be after each |
//! | `plan` | how much of everything |
//! | `probe` | from a fault to the next lease |
//! | `sampler`, `pause` | the longest time without a request while work was ready |
//! | `pages` | whether every stored page can be read back |
//! | `judge`, `report` | the promises, and the line they end in |
//!
//! Every wait is bounded: a cluster that is stuck ends the drill with an error that says what waited.

mod args;
mod clock_skew;
mod directory;
mod disk_full;
mod drain_under_load;
mod join_under_load;
mod judge;
mod kill_all;
mod kill_box;
mod kill_crawl;
mod kill_fetcher;
mod kill_leader;
mod limits;
mod lose_a_disk;
mod move_under_load;
mod moving;
mod pages;
mod partition;
mod pause;
mod pause_fetcher;
mod pause_leader;
mod plan;
mod probe;
mod report;
mod rig;
mod rolling_restart;
mod sampler;
mod split_under_load;
mod splitting;
mod tiling;

pub use args::{Args, Common};
pub use directory::WorkingDirectory;
pub use judge::Verdict;
pub use kill_leader::kill_a_leader;
pub use limits::EXIT_BROKEN;
pub use plan::Plan;
pub use report::NextLease;
pub use rig::Rig;
pub use splitting::Splitter;

use crate::output::{self, CommandError};
use crate::signals;
use args::Name;
use limits::EXIT_REFUSED;
use report::Line;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What a drill measured beside what the web saw.
#[derive(Debug, Default)]
pub struct Measured {
    /// Rounds made, where they may be fewer than asked for.
    pub rounds: Option<u32>,
    /// From a fault to the next lease of its shard.
    pub next_lease: Vec<Duration>,
    /// Promises that broke and that the web cannot see.
    pub broken: Vec<String>,
}

impl Measured {
    /// Notes what broke in a round.
    fn broke_in(&mut self, round: u32, broke: Vec<String>) {
        let words = broke.into_iter();
        let words = words.map(|what| format!("round {round}: {what}"));
        self.broken.extend(words);
    }
}

/// One drill.
trait Drill {
    /// Its name on the command line.
    const NAME: &'static str;
    /// Rounds, by default: a minute or so.
    const ROUNDS: u32;

    /// What it needs, its own things made. Refused, if this machine or user cannot.
    fn plan(&mut self, common: &Common, rounds: u32, dir: &Path) -> Result<Plan, CommandError>;

    /// Breaks things while the crawl goes on.
    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError>;
}

/// Runs a drill; fails when a promise broke.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    match &args.drill {
        Name::KillLeader(common) => drill(kill_leader::KillLeader, common),
        Name::KillAll(common) => drill(kill_all::KillAll, common),
        Name::PauseLeader(common) => drill(pause_leader::PauseLeader, common),
        Name::PauseFetcher(common) => drill(pause_fetcher::PauseFetcher, common),
        Name::Partition(common) => drill(partition::Partition::default(), common),
        Name::ClockSkew(common) => drill(clock_skew::ClockSkew, common),
        Name::DiskFull(common) => drill(disk_full::DiskFull::default(), common),
        Name::KillFetcher(common) => drill(kill_fetcher::KillFetcher, common),
        Name::KillBox(common) => drill(kill_box::KillBox, common),
        Name::RollingRestart(common) => drill(rolling_restart::RollingRestart, common),
        Name::LoseADisk(common) => drill(lose_a_disk::LoseADisk, common),
        Name::SplitUnderLoad(common) => drill(split_under_load::SplitUnderLoad, common),
        Name::MoveUnderLoad(common) => drill(move_under_load::MoveUnderLoad, common),
        Name::DrainUnderLoad(common) => drill(drain_under_load::DrainUnderLoad, common),
        Name::JoinUnderLoad(common) => drill(join_under_load::JoinUnderLoad, common),
        Name::KillCrawl(args) => kill_crawl::run(args),
    }
}

fn drill<D: Drill>(drill: D, common: &Common) -> Result<ExitCode, CommandError> {
    let directory = WorkingDirectory::new(common.out.as_deref())?;
    // Dropped before the directory: it may hold mounts in it.
    let mut drill = drill;
    let rounds = common.rounds.unwrap_or(D::ROUNDS);
    let plan = match drill.plan(common, rounds, directory.path()) {
        Err(CommandError::Refused(why)) => {
            output::note(format_args!("escapement: drill {} refused: {why}", D::NAME));
            return Ok(ExitCode::from(EXIT_REFUSED));
        }
        other => other?,
    };
    let (verdict, measured) = until_stopped(async {
        let mut rig = Box::pin(Rig::start(plan, directory.path())).await?;
        let measured = drill.run(&mut rig, rounds).await?;
        output::note("the rest of the crawl, undisturbed");
        Ok((Box::pin(rig.finish()).await?, measured))
    })?;
    let line = Line {
        drill: D::NAME,
        rounds: measured.rounds.unwrap_or(rounds),
        early_contacts: verdict.web.totals.early_contacts,
        lost_urls: verdict.lost.len() as u64,
        repeats: verdict.repeats,
        longest_pause_ms: verdict.longest_pause.map(|pause| pause.as_millis() as u64),
        next_lease_ms: NextLease::of(&measured.next_lease),
    };
    let holds = verdict.holds() && measured.broken.is_empty();
    show(&verdict, &measured, &line, common.json, holds)?;
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_BROKEN)
    })
}

/// The table on stdout, or the line there and, if a promise broke, the table on stderr.
fn show(
    verdict: &Verdict,
    measured: &Measured,
    line: &Line,
    json: bool,
    holds: bool,
) -> Result<(), CommandError> {
    for broken in &measured.broken {
        output::note(format_args!("A PROMISE BROKE: {broken}"));
    }
    if json {
        if !holds {
            output::note(verdict);
        }
        return output::line(line.json()?);
    }
    output::line(verdict)?;
    output::line(line.next_lease_ms)
}

/// Runs it on a runtime of its own; SIGINT and SIGTERM end it, and with it every process it started.
pub fn until_stopped<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    let result = runtime.block_on(async {
        tokio::select! {
            done = work => done,
            stopped = signals::stopped() => Err(match stopped {
                Ok(()) => CommandError::Message("stopped".to_owned()),
                Err(error) => CommandError::io("cannot wait for signals", error),
            }),
        }
    });
    runtime.shutdown_background();
    result
}

/// One line a round, on stderr.
fn note_round(round: u32, text: fmt::Arguments<'_>) {
    output::note(format_args!("round {round}: {text}"));
}
