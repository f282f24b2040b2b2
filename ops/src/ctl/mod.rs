//! `escapement ctl`: what a running cluster is made of, and changes of its shape.
//!
//! | file | what |
//! |---|---|
//! | `adopt` | the map takes over what `recover-unsafe` made of a shard |
//! | `args` | the command line |
//! | `ask` | one call, waited for, and its end as an exit code |
//! | `data` | commands about what is crawled: `hosts`, `queues`, `seed`, `block`, `pause`, `remove` and others |
//! | `reads` | `status`, `nodes`, `shards`, `jobs` |
//! | `backup` | `backup`, `restore` |
//! | `split`, `places`, `transfer` | changes; `cancel-job` is in `split` |
//! | `job` | a job that a change began, watched |
//! | `tables`, `json` | the answers for people and for programs |

mod adopt;
mod args;
mod ask;
mod backup;
mod data;
mod job;
mod json;
mod places;
mod reads;
mod split;
mod tables;
mod transfer;

pub use args::Args;
pub use job::draw;

use crate::output::{self, CommandError};
use args::Command;
use ask::{Asker, End};
use std::process::ExitCode;

/// Runs `ctl`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    match runtime.block_on(command(args)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(End::Failed(error)) => Err(error),
        Err(end) => {
            output::note(format_args!("escapement: {end}"));
            Ok(ExitCode::from(end.code()))
        }
    }
}

async fn command(args: &Args) -> Result<(), End> {
    let mut asker = Asker::new(&args.frontier, args.json)?;
    match &args.command {
        Command::Status => reads::status(&mut asker).await,
        Command::Nodes => reads::nodes(&mut asker).await,
        Command::Shards => reads::shards(&mut asker).await,
        Command::Jobs(args) => reads::jobs(&mut asker, args.job).await,
        Command::Split(args) => split::run(&mut asker, args).await,
        Command::Move(args) => places::move_replica(&mut asker, args).await,
        Command::Drain(args) => places::drain(&mut asker, args).await,
        Command::Undrain(args) => places::undrain(&mut asker, args).await,
        Command::Replace(args) => places::replace(&mut asker, args).await,
        Command::Leave(args) => places::leave(&mut asker, args).await,
        Command::Pin(args) => places::pin(&mut asker, args).await,
        Command::PreferLeader(args) => places::prefer_leader(&mut asker, args).await,
        Command::CancelJob(args) => split::cancel(&mut asker, args).await,
        Command::TransferLeader(args) => transfer::run(&mut asker, args).await,
        Command::Adopt(args) => adopt::run(&mut asker, args).await,
        Command::Backup(args) => backup::backup(&mut asker, args).await,
        Command::Restore(args) => backup::restore(&mut asker, args).await,
        Command::Data(command) => data::run(&mut asker, args, command).await,
    }
}
