//! `escapement`: the command line. One subcommand a folder or file.

mod bench;
mod cli;
mod cluster;
mod crawl;
mod demo;
mod drill;
mod duration;
mod embedded;
mod fakeweb;
mod get;
mod inspect;
mod output;
mod plan;
mod policy;
mod records;
mod scrub;
mod seed;
mod signals;
mod stores;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("ESCAPEMENT_LOG")
                .unwrap_or_else(|_| "warn,openraft=error".into()),
        )
        .init();
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            output::note(format_args!("escapement: {error}"));
            ExitCode::from(1)
        }
    }
}
