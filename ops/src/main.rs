//! `escapement`: the command line. One subcommand a folder or file.
//!
//! | file | what |
//! |---|---|
//! | `cli` | the subcommands, and how they are dispatched |
//! | `crawl` | one crawl in one process; `embedded` is its frontier and store, `records` what its directory says |
//! | `get`, `scrub`, `seed` | pages read back and checked; a cluster's policy and seeds |
//! | `ctl` | what a running cluster is made of, and changes of its shape |
//! | `inspect`, `plan` | how URLs and robots.txt files are understood; what a crawl needs |
//! | `fakeweb` | serves the fake web of `tests/fakeweb` |
//! | `demo`, `drill`, `bench` | clusters of real processes: shown, broken, measured; `cluster` starts and asks them |
//! | `stores`, `patience`, `policy` | a running cluster: found, waited for, told a crawl's policy |
//! | `copies` | how many copies every page of a cluster has left |
//! | `leftovers` | what killed runs left behind |
//! | `suffixes`, `duration`, `numbers`, `output`, `signals`, `limits` | arguments, output, signals and limits of all of them |

mod bench;
mod cli;
mod cluster;
mod copies;
mod crawl;
mod ctl;
mod demo;
mod drill;
mod duration;
mod embedded;
mod fakeweb;
mod get;
mod inspect;
mod leftovers;
mod limits;
mod numbers;
mod output;
mod patience;
mod plan;
mod policy;
mod records;
mod recover_unsafe;
mod scrub;
mod seed;
mod signals;
mod stores;
mod suffixes;

use clap::Parser;
use std::process::ExitCode;

/// Most of what is allocated is small and short-lived, on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    program::end_with_parent("escapement");
    program::log_to_stderr("escapement", "warn,openraft=error");
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            output::note(format_args!("escapement: {error}"));
            ExitCode::from(1)
        }
    }
}
