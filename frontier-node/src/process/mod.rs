//! The program `frontier-node`: one node of a cluster.
//!
//! | file | concept |
//! |---|---|
//! | `settings` | flags, environment and configuration file, checked |
//! | `running` | a node from its listeners to its clean stop |
//! | `servers` | the gRPC and HTTP servers |
//! | `test_clocks` | clocks that are wrong on purpose, for drills |

mod running;
mod servers;
mod settings;
mod test_clocks;

use std::process::ExitCode;

use clap::Parser;

pub use running::{ProcessError, run};
pub use settings::{Settings, SettingsError};

/// The program.
pub fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("ESCAPEMENT_LOG")
                .unwrap_or_else(|_| "info,openraft=error".into()),
        )
        .init();
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
            eprintln!("frontier-node: {error}");
            ExitCode::from(1)
        }
    }
}
