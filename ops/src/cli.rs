//! The subcommands and how they are dispatched.

use crate::output::CommandError;
use crate::{fakeweb, inspect, plan};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A web-crawl frontier that keeps time.
#[derive(Debug, Parser)]
#[command(name = "escapement", version, about, long_about = None)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a deterministic fake web on loopback that logs each arrival.
    Fakeweb(fakeweb::Args),
    /// Show how a URL or a robots.txt is understood.
    Inspect(inspect::Args),
    /// Size a crawl: rates, memory, disk, boxes.
    Plan(plan::Args),
}

impl Cli {
    /// Runs the chosen subcommand.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            Command::Fakeweb(args) => fakeweb::run(&args),
            Command::Inspect(args) => inspect::run(args),
            Command::Plan(args) => plan::run(&args),
        }
    }
}
