//! `escapement scrub`: reads and checks every stored page, of a crawl's directory or of all stores of a cluster; of a cluster
//! it says as well which pages have fewer copies than they were stored with.

use crate::copies::{self, Copies};
use crate::get::{From, open};
use crate::output::{self, CommandError};
use crate::patience::Patience;
use crate::stores::ClusterPages;
use page_service::ScrubEvent;
use page_store::{ScrubProblem, ScrubReport};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code when a store was away, or pages have fewer copies than they were stored with.
const EXIT_BELOW: u8 = 1;
/// Exit code when something is damaged, or pages have no copy left.
const EXIT_DAMAGED: u8 = 2;
/// Problems of one store that are listed in JSON.
const LISTED_PROBLEMS: usize = 20;

/// Arguments of `scrub`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --frontier the URL records are gone through as well: pages whose copies were on stores that are no longer there \
        are counted and some are named. A copy that was lost with its disk is not made anew by itself.\n\
        Exit code: 0 everything is good; 1 failed, a store was away, or pages have fewer copies than they were stored with; \
        2 something is damaged, pages have no copy left, or the command line is wrong."
)]
pub struct Args {
    #[command(flatten)]
    from: From,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, value_name = "FILE", requires = "frontier")]
    suffix_list: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Found {
    stores: Vec<StoreFound>,
    /// Stores that could not be scrubbed, and why.
    away: Vec<String>,
    /// Of a cluster: what the URL records say.
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<Copies>,
}

/// What was found in one store.
#[derive(Debug, Serialize)]
struct StoreFound {
    store: String,
    records: u64,
    payloads: u64,
    bytes: u64,
    problems: u64,
    /// The first of them.
    listed: Vec<String>,
}

impl Found {
    fn add(&mut self, store: &str, report: &ScrubReport, listed: Vec<String>) {
        self.stores.push(StoreFound {
            store: store.to_owned(),
            records: report.records,
            payloads: report.payloads,
            bytes: report.bytes,
            problems: report.problem_count,
            listed,
        });
    }

    fn exit_code(&self) -> ExitCode {
        let copies = self.copies.as_ref();
        let is_damaged = self.stores.iter().any(|store| store.problems > 0);
        if is_damaged || copies.is_some_and(|copies| copies.without() > 0) {
            ExitCode::from(EXIT_DAMAGED)
        } else if !self.away.is_empty() || copies.is_some_and(|copies| copies.below() > 0) {
            ExitCode::from(EXIT_BELOW)
        } else {
            ExitCode::SUCCESS
        }
    }
}

/// Runs `scrub`; fails when a record is damaged or copies are lost.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let found = match &args.from.out {
        Some(out) => {
            let (name, report) = (out.display().to_string(), open(out)?.scrub());
            let mut told = Told::of(args, &name);
            report.problems.iter().try_for_each(|p| told.problem(p))?;
            let mut found = Found::default();
            told.end(&report, &mut found)?;
            found
        }
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| CommandError::io("cannot start", e))?
            .block_on(cluster(args))?,
    };
    if args.json {
        let text = serde_json::to_string(&found);
        output::line(text.map_err(|e| CommandError::of("cannot write JSON", e))?)?;
    }
    if !found.away.is_empty() {
        output::note(format_args!(
            "escapement: not all stores could be scrubbed: {}",
            found.away.join("; ")
        ));
    }
    Ok(found.exit_code())
}

/// One store after the other, so that the others serve. One that cannot be scrubbed is an error at the end.
async fn cluster(args: &Args) -> Result<Found, CommandError> {
    let (suffix_list, mut patience) = (args.suffix_list.as_deref(), Patience::new());
    let cluster = ClusterPages::connect(&args.from.frontier, suffix_list, &mut patience).await?;
    let mut found = Found::default();
    let (mut there, mut away) = (BTreeSet::new(), BTreeSet::new());
    for store in cluster.stores.stores() {
        let name = format!("store {} at {}", store.store_id, store.address);
        // Its node may still be joining; a scrub that began is not tried again.
        let asked = patience.until(async || cluster.stores.status(store.store_id).await);
        let mut told = Told::of(args, &name);
        let mut shown = Ok(());
        let report = match asked.await {
            Err(error) => Err(error),
            Ok(_) => {
                let on_event = |event| {
                    if let ScrubEvent::Problem(problem) = event
                        && shown.is_ok()
                    {
                        shown = told.problem(&problem);
                    }
                };
                cluster.stores.scrub(store.store_id, on_event).await
            }
        };
        shown?;
        match report {
            Ok(report) => {
                there.insert(store.store_id);
                told.end(&report, &mut found)?;
            }
            Err(error) => {
                away.insert(store.store_id);
                found.away.push(format!("{name}: {error}"));
            }
        }
    }
    let copies = copies::count(&cluster.router, there, away).await?;
    if !args.json {
        copies.print()?;
    }
    found.copies = Some(copies);
    Ok(found)
}

/// What is told of one store.
struct Told<'a> {
    store: &'a str,
    json: bool,
    listed: Vec<String>,
}

impl<'a> Told<'a> {
    fn of(args: &Args, store: &'a str) -> Self {
        Self {
            store,
            json: args.json,
            listed: Vec::new(),
        }
    }

    fn problem(&mut self, problem: &ScrubProblem) -> Result<(), CommandError> {
        if !self.json {
            return output::line(format_args!("{}: {problem}", self.store));
        }
        if self.listed.len() < LISTED_PROBLEMS {
            self.listed.push(problem.to_string());
        }
        Ok(())
    }

    fn end(self, report: &ScrubReport, found: &mut Found) -> Result<(), CommandError> {
        if !self.json {
            output::line(format_args!(
                "{}: {} records and {} payloads read, {} bytes, {} problems",
                self.store, report.records, report.payloads, report.bytes, report.problem_count
            ))?;
        }
        found.add(self.store, report, self.listed);
        Ok(())
    }
}
