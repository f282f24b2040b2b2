//! `escapement plan`: what a crawl of a given size needs, each figure with its formula beside it: by the design's own numbers
//! (`figures`), and by what benches measured (`measured`, `needs`).

mod figures;
mod measured;
mod needs;
#[cfg(test)]
mod tests;

use crate::output::{self, CommandError};
use comfy_table::{Table, presets};
use figures::Figures;
use measured::Measured;
use needs::Need;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `plan`; the defaults are the project's target.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Pages fetched in a month of 30 days.
    #[arg(long, default_value_t = 1_000_000_000)]
    pub pages_per_month: u64,
    /// Hosts crawled.
    #[arg(long, default_value_t = 1_000_000)]
    pub hosts: u64,
    /// URLs remembered.
    #[arg(long, default_value_t = 10_000_000_000)]
    pub urls: u64,
    /// Mean size of a page, bytes.
    #[arg(long, default_value_t = 100_000)]
    pub page_size_bytes: u64,
    /// Mean time of a fetch, ms.
    #[arg(long, default_value_t = 1_000)]
    pub fetch_time_ms: u64,
    /// Open fetches a box.
    #[arg(long, default_value_t = 200)]
    pub open_per_box: u64,
    /// Links on a page.
    #[arg(long, default_value_t = 62)]
    pub links_per_page: u64,
    /// Percent of the links that are new.
    #[arg(long, default_value_t = 10)]
    pub new_links_percent: u64,
    /// Bits of Bloom filter for each URL.
    #[arg(long, default_value_t = 10)]
    pub filter_bits_per_url: u64,
    /// Network card of a box, Gbit/s.
    #[arg(long, default_value_t = 10)]
    pub card_gbit_per_s: u64,
    /// Least time between two contacts of a host, ms.
    #[arg(long, default_value_t = 1_000)]
    pub delay_ms: u64,
    /// Pages of the largest site.
    #[arg(long, default_value_t = 10_000_000)]
    pub largest_site_pages: u64,
    /// Replicas of a shard.
    #[arg(long, default_value_t = 3)]
    pub replicas: u64,
    /// Bytes of a queued URL's rows.
    #[arg(long, default_value_t = 100)]
    pub queued_url_size_bytes: u64,
    /// Stores that each page goes to, as `--copies` of the fetchers.
    #[arg(long, default_value_t = 2)]
    pub page_copies: u64,
    /// Shards of the cluster.
    #[arg(long, default_value_t = 64)]
    pub shards: u64,
    /// Figures of `escapement bench NAME --record FILE` instead of those that came with this program.
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Plan {
    #[serde(flatten)]
    figures: Figures,
    measured: Vec<Need>,
}

/// Runs `plan`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    for (name, value) in [
        ("--pages-per-month", args.pages_per_month),
        ("--hosts", args.hosts),
        ("--urls", args.urls),
        ("--page-size-bytes", args.page_size_bytes),
        ("--fetch-time-ms", args.fetch_time_ms),
        ("--open-per-box", args.open_per_box),
        ("--filter-bits-per-url", args.filter_bits_per_url),
        ("--card-gbit-per-s", args.card_gbit_per_s),
        ("--delay-ms", args.delay_ms),
        ("--replicas", args.replicas),
        ("--page-copies", args.page_copies),
        ("--shards", args.shards),
    ] {
        if value == 0 {
            return Err(CommandError::Message(format!("{name} must not be 0")));
        }
    }
    let measured = Measured::read(args.measured.as_deref(), args.replicas)?;
    let figures = Figures::of(args);
    let plan = Plan {
        measured: needs::needs(&measured, args, &figures),
        figures,
    };
    if args.json {
        let text =
            serde_json::to_string(&plan).map_err(|e| CommandError::of("cannot write JSON", e))?;
        output::line(text)?;
    } else {
        print(&plan)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Two tables: by the design's numbers, and by what was measured, with when and where that was.
fn print(plan: &Plan) -> Result<(), CommandError> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value, note) in plan.figures.rows() {
        table.add_row([name, &value, &note]);
    }
    output::line(table)?;
    output::line("\nby measurement")?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for need in &plan.measured {
        table.add_row(need.row());
    }
    output::line(table)?;
    let taken = plan.measured.iter().filter_map(|need| {
        let taken = need.taken.as_ref()?;
        Some((need.bench, taken))
    });
    for (bench, taken) in taken.collect::<BTreeSet<_>>() {
        output::line(format_args!("{bench}: {taken}"))?;
    }
    Ok(())
}
