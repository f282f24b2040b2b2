//! Commands about what is crawled: they go to the shards themselves, not to group 0.
//!
//! | file | what |
//! |---|---|
//! | `args` | the command line |
//! | `cluster` | the shards: the owner of a host, or every shard until none is left out |
//! | `hosts`, `queues` | reads; `waits` says why a host is not released |
//! | `pace` | `block`, `unblock`, `delay`, `pause`, `resume` |
//! | `remove`, `seed` | URLs out, URLs in |
//! | `lost_store` | a page store given up |
//! | `duplicates`, with `marks`, `groups` and `mirrors` | payloads under several URLs, hosts that share most of theirs |
//! | `tables`, `json` | the answers for people and for programs |

mod args;
mod cluster;
mod duplicates;
mod groups;
mod hosts;
mod json;
mod lost_store;
mod marks;
mod mirrors;
mod pace;
mod queues;
mod remove;
mod seed;
mod tables;
mod waits;

pub(super) use args::Command;

use super::args::Args;
use super::ask::{Asker, End};
use cluster::Cluster;

/// Runs one of the commands.
pub(super) async fn run(asker: &mut Asker, args: &Args, command: &Command) -> Result<(), End> {
    command.check()?;
    let mut cluster = Cluster::connect(&args.frontier, args.suffix_list.as_deref()).await?;
    match command {
        Command::Hosts(args) => hosts::run(asker, &mut cluster, args).await,
        Command::Queues(args) => queues::run(asker, &mut cluster, args).await,
        Command::Seed(args) => seed::run(asker, &mut cluster, args).await,
        Command::Block(args) => pace::block(asker, &mut cluster, args).await,
        Command::Unblock(args) => pace::unblock(asker, &mut cluster, &args.host).await,
        Command::Delay(args) => pace::delay(asker, &mut cluster, args).await,
        Command::Pause(args) => pace::pause(asker, &mut cluster, &args.what, true).await,
        Command::Resume(args) => pace::pause(asker, &mut cluster, &args.what, false).await,
        Command::Remove(args) => remove::run(asker, &mut cluster, args).await,
        Command::LostStore(args) => lost_store::run(asker, &mut cluster, args).await,
        Command::Duplicates(args) => duplicates::run(asker, &mut cluster, args).await,
    }
}
