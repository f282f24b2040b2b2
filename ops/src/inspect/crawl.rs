//! `inspect crawl`: every URL of a crawl's directory with its state and outcome, a JSON object a line.

use crate::output::{self, CommandError};
use crate::records;
use machine::command::lease::LeaseKind;
use machine::command::report::PageCode;
use machine::{ListedUrl, UrlState};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `inspect crawl`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory of the crawl; no crawl may be running on it.
    #[arg(long)]
    out: PathBuf,
    /// Only what is leased, robots files and errands included.
    #[arg(long)]
    leased: bool,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    kind: &'static str,
    state: &'static str,
    outcome: Option<&'static str>,
    reason: &'a str,
    status: u32,
    digest: Option<String>,
    attempts: u32,
    fetched_unix_ms: u64,
    size_bytes: u64,
    redirect_target: &'a str,
}

/// Runs `inspect crawl`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    records::with_directory(&args.out, async |embedded| {
        embedded
            .for_each_url(|listed| {
                let wanted = if args.leased {
                    listed.record.state == UrlState::Leased
                } else {
                    listed.kind == LeaseKind::Page
                };
                if wanted { print(&listed) } else { Ok(()) }
            })
            .await
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(listed: &ListedUrl) -> Result<(), CommandError> {
    let record = &listed.record;
    let line = Line {
        url: &listed.url,
        kind: match listed.kind {
            LeaseKind::Page => "page",
            LeaseKind::Robots => "robots",
            LeaseKind::Errand => "errand",
        },
        state: match record.state {
            UrlState::Queued => "queued",
            UrlState::Leased => "leased",
            UrlState::Scheduled => "scheduled",
            UrlState::Done => "done",
            UrlState::Removed => "removed",
            UrlState::Refused => "refused",
        },
        outcome: PageCode::try_from(record.last_code).ok().map(outcome_name),
        reason: &record.last_reason,
        status: record.status,
        digest: (!record.digest.is_empty()).then(|| hex::encode(&record.digest)),
        attempts: record.attempts,
        fetched_unix_ms: record.fetched_unix_ms,
        size_bytes: record.payload_size_bytes,
        redirect_target: &record.redirect_target,
    };
    output::line(
        serde_json::to_string(&line).map_err(|e| CommandError::of("cannot write JSON", e))?,
    )
}

const fn outcome_name(code: PageCode) -> &'static str {
    match code {
        PageCode::Stored => "stored",
        PageCode::NotModified => "not_modified",
        PageCode::Redirect => "redirect",
        PageCode::HttpError => "http_error",
        PageCode::HttpBusy => "http_busy",
        PageCode::NetworkError => "network_error",
        PageCode::Disallowed => "disallowed",
        PageCode::Refused => "refused",
        PageCode::DnsNotFound => "dns_not_found",
        PageCode::Requeue => "requeue",
    }
}
