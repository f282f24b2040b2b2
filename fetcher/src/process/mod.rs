//! A fetcher as a process: flags, signals, metrics. It keeps nothing on disk: kill it at any time, start as many as you like.
//!
//! On stdout it says one line when it has found the cluster: `ready session=HEX http=IP:PORT`. Logs go to stderr, as much of
//! them as `ESCAPEMENT_LOG` asks for (a filter such as `info` or `fetcher=debug,client=debug`). The first SIGTERM or SIGINT ends
//! leasing; open fetches end or are put back, and the process exits with 0 within the configured time. A second one ends it at
//! once: its leases run out by themselves.
//!
//! | file | concept |
//! |---|---|
//! | `flags.rs`, `settings.rs` | what may be set: flags, environment, file; and what comes of it |
//! | `run.rs` | from settings to the exit code |
//! | `cluster.rs`, `complaint.rs` | finding the frontiers; trouble that lasts is told once |
//! | `stores.rs` | the page stores of the cluster's nodes |
//! | `http.rs`, `exposition.rs` | the metrics endpoint and its text |
//! | `signals.rs` | the wish to stop |

mod cluster;
mod complaint;
mod exposition;
mod flags;
mod http;
mod run;
mod settings;
mod signals;
mod stores;

use std::process::ExitCode;

use clap::Parser;

pub use flags::Flags;
pub use run::{ProcessError, run};
pub use settings::{Settings, SettingsError};

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    program::end_with_parent("fetcher");
    program::log_to_stderr("fetcher", "warn");
    match start() {
        Ok(code) => code,
        Err(error) => {
            // Not a log line: whoever started it by hand may have a filter that shows none.
            program::say(format_args!("fetcher: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<ExitCode, ProcessError> {
    let settings = Settings::of(Flags::parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ProcessError::Runtime)?;
    let code = runtime.block_on(run(settings));
    // What is left are connections and timers: nothing that would be missed.
    runtime.shutdown_background();
    code
}
