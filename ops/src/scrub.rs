//! `escapement scrub`: reads and checks every stored page, of a crawl's directory or of all stores of a cluster.

use crate::get::{From, open};
use crate::output::{self, CommandError};
use crate::patience::Patience;
use crate::stores::ClusterPages;
use page_service::ScrubEvent;
use page_store::{ScrubProblem, ScrubReport};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code when something is damaged.
const EXIT_DAMAGED: u8 = 2;

/// Arguments of `scrub`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 everything is good, 1 failed or a store was away, 2 something is damaged or the command line is wrong."
)]
pub struct Args {
    #[command(flatten)]
    from: From,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, value_name = "FILE", requires = "frontier")]
    suffix_list: Option<PathBuf>,
}

/// Runs `scrub`; fails when a record is damaged.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let problems = match &args.from.out {
        Some(out) => {
            let report = open(out)?.scrub();
            for problem in &report.problems {
                show(&out.display(), problem)?;
            }
            summary(&out.display(), &report)?;
            report.problem_count
        }
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| CommandError::io("cannot start", e))?
            .block_on(cluster(args))?,
    };
    Ok(if problems == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_DAMAGED)
    })
}

/// One store after the other, so that the others serve. One that cannot be scrubbed is an error at the end.
async fn cluster(args: &Args) -> Result<u64, CommandError> {
    let (suffix_list, mut patience) = (args.suffix_list.as_deref(), Patience::new());
    let cluster = ClusterPages::connect(&args.from.frontier, suffix_list, &mut patience).await?;
    let (mut problems, mut unread) = (0, Vec::new());
    for store in cluster.stores.stores() {
        let name = format!("store {} at {}", store.store_id, store.address);
        // Its node may still be joining; a scrub that began is not tried again.
        let asked = patience.until(async || cluster.stores.status(store.store_id).await);
        let mut shown = Ok(());
        let report = match asked.await {
            Err(error) => Err(error),
            Ok(_) => {
                let on_event = |event| {
                    if let ScrubEvent::Problem(problem) = event
                        && shown.is_ok()
                    {
                        shown = show(&name, &problem);
                    }
                };
                cluster.stores.scrub(store.store_id, on_event).await
            }
        };
        shown?;
        match report {
            Ok(report) => {
                problems += report.problem_count;
                summary(&name, &report)?;
            }
            Err(error) => unread.push(format!("{name}: {error}")),
        }
    }
    if unread.is_empty() {
        return Ok(problems);
    }
    Err(CommandError::Message(format!(
        "not all stores could be scrubbed: {}",
        unread.join("; ")
    )))
}

fn show(store: &dyn std::fmt::Display, problem: &ScrubProblem) -> Result<(), CommandError> {
    output::line(format_args!("{store}: {problem}"))
}

fn summary(store: &dyn std::fmt::Display, report: &ScrubReport) -> Result<(), CommandError> {
    output::line(format_args!(
        "{store}: {} records and {} payloads read, {} bytes, {} problems",
        report.records, report.payloads, report.bytes, report.problem_count
    ))
}
