//! `escapement`: the command line. One subcommand a folder or file.

mod cli;
mod fakeweb;
mod inspect;
mod output;
mod plan;
mod signals;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("escapement: {error}");
            ExitCode::from(1)
        }
    }
}
