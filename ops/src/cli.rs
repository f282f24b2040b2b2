//! The subcommands and how they are dispatched.

use crate::output::CommandError;
use crate::{
    bench, crawl, ctl, demo, drill, fakeweb, get, inspect, plan, recover_unsafe, scrub, seed,
};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A web-crawl frontier that keeps time.
#[derive(Debug, Parser)]
#[command(
    name = "escapement",
    version,
    about,
    long_about = None,
    after_help = "ESCAPEMENT_LOG says what is logged to stderr, such as info or fetcher=debug,client=debug [default: warn]."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure speed, memory and disk, each figure with a floor of the same run.
    Bench(Box<bench::Args>),
    /// Crawl politely in one process; run again on the same directory to go on.
    Crawl(Box<crawl::Args>),
    /// Show what a running cluster is made of, and change its shape.
    Ctl(ctl::Args),
    /// Three nodes and two fetchers crawl a fake web on this machine while leaders are killed; judged by what the web saw.
    Demo(demo::Args),
    /// Break one thing on real processes, again and again, and judge by what a web server saw.
    Drill(Box<drill::Args>),
    /// Serve a deterministic fake web on loopback; with --log FILE logs each arrival.
    Fakeweb(fakeweb::Args),
    /// Write a stored payload to stdout, by digest or URL.
    Get(get::Args),
    /// Show how a URL or a robots.txt is understood.
    Inspect(inspect::Args),
    /// Size a crawl: rates, memory, disk, boxes.
    Plan(plan::Args),
    /// Let a stopped node go on alone with groups whose other replicas are lost for good.
    RecoverUnsafe(recover_unsafe::Args),
    /// Read and check every stored page.
    Scrub(scrub::Args),
    /// Give a running cluster a crawl's policy and URLs to start from.
    Seed(seed::Args),
}

impl Cli {
    /// Runs the chosen subcommand.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            Command::Bench(args) => bench::run(&args),
            Command::Crawl(args) => crawl::run(&args),
            Command::Ctl(args) => ctl::run(&args),
            Command::Demo(args) => demo::run(&args),
            Command::Drill(args) => drill::run(&args),
            Command::Fakeweb(args) => fakeweb::run(&args),
            Command::Get(args) => get::run(&args),
            Command::Inspect(args) => inspect::run(args),
            Command::Plan(args) => plan::run(&args),
            Command::RecoverUnsafe(args) => recover_unsafe::run(&args),
            Command::Scrub(args) => scrub::run(&args),
            Command::Seed(args) => seed::run(&args),
        }
    }
}
