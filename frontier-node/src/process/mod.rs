//! The program `frontier-node`: one node of a cluster.
//!
//! | file | concept |
//! |---|---|
//! | `settings` | flags, environment and configuration file, checked |
//! | `running` | a node from its listeners to its clean stop |
//! | `addresses` | where this node and others are, as settings say |
//! | `membership` | who this process is; joining a cluster |
//! | `panics` | a panic of any task ends the process |
//! | `servers` | the gRPC and HTTP servers |
//! | `test_clocks` | clocks that are wrong on purpose, for drills |

mod addresses;
mod membership;
mod panics;
mod running;
mod servers;
mod settings;
mod test_clocks;

use std::process::ExitCode;

use clap::Parser;

use crate::open_files::raise_limit;

pub use running::{ProcessError, run};
pub use settings::{Settings, SettingsError};

/// Exit code of a node whose directory never takes part again: not to be started once more.
const GONE: u8 = 3;

/// The program.
pub fn main() -> ExitCode {
    panics::end_process();
    program::end_with_parent("frontier-node");
    program::log_to_stderr("frontier-node", "info,openraft=error");
    raise_limit();
    let ended = Settings::parse()
        .complete()
        .map_err(ProcessError::from)
        .and_then(|settings| {
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .map_err(|error| ProcessError::Start(error.to_string()))?
                .block_on(run(settings))
        });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            program::say(format_args!("frontier-node: {error}"));
            ExitCode::from(if error.is_for_good() { GONE } else { 1 })
        }
    }
}
