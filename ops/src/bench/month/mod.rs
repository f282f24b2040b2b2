//! A month of crawling, scaled down, in the real machine under virtual time: heavy-tailed hosts against the ceiling that
//! politeness sets.
//!
//! Time and pages are scaled alike: with a scale of 100 a simulated page stands for a hundred real ones, and a fetch, a first
//! byte and the time between two contacts last a hundred times as long. So a host gives a hundredth of what it gives in a real
//! month, and the largest site, a hundredth as large, waits as long. The fleet's open fetches follow from the same rule as in
//! `escapement plan`: twice the average rate.
//!
//! | file | what |
//! |---|---|
//! | `sites` | hosts and their pages |
//! | `crawl` | the month: leases, fetches, links, reports |
//! | `contacts` | what each host saw |
//! | `classes` | hosts by size, against their ceiling |
//! | `row_sizes` | rows that the month left, by kind |

mod classes;
mod contacts;
mod crawl;
mod row_sizes;
mod sites;
#[cfg(test)]
mod tests;

use super::measure::{Meter, cpu_time};
use super::outcome::{About, Outcome, ratio, rounded};
use crate::output::{self, CommandError};
use classes::Classes;
use crawl::{Crawl, Shape};
use row_sizes::RowSizes;
use serde_json::json;
use sites::Sites;

const ABOUT: About = About {
    bench: "month",
    what: "pages of the hosts that have more than a month's, of one page a delay; a scaled-down month in the real machine",
    unit: "% of the politeness ceiling",
    floor_is: "each of the same hosts crawled alone by nobody else, with the same fetch times and a robots.txt a day",
    reach: "what a host gives when it is alone; no early contact",
};

/// Largest scale: the longest fetch then still fits into the longest lease.
const SCALE_MAX: i64 = 300;

/// Arguments of `month`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Hosts, each a site of its own.
    #[arg(long, default_value_t = 100_000, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// How many real pages a simulated one stands for, and how much longer a fetch and a delay last.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=SCALE_MAX))]
    pub scale: u32,
    /// Real pages of the largest site.
    #[arg(long, default_value_t = 10_000_000, value_parser = crate::numbers::positive::<u64>)]
    pub largest_site_pages: u64,
    /// Zipf's exponent: the site of rank r has largest / r^exponent pages, at least one simulated.
    #[arg(long, default_value_t = 1.0, value_parser = crate::numbers::positive_finite)]
    pub exponent: f64,
    /// Real least time between two contacts of a host, ms.
    #[arg(long, default_value_t = 1_000, value_parser = crate::numbers::positive::<u64>)]
    pub delay_ms: u64,
    /// Real mean time of a fetch, ms; its first byte comes after three tenths of it.
    #[arg(long, default_value_t = 1_000, value_parser = crate::numbers::positive::<u64>)]
    pub fetch_time_ms: u64,
    /// Length, days.
    #[arg(long, default_value_t = 30, value_parser = crate::numbers::positive::<u64>)]
    pub days: u64,
    /// The fleet's rate by the average that the hosts allow.
    #[arg(long, default_value_t = 2.0, value_parser = crate::numbers::positive_finite)]
    pub fleet: f64,
    /// Simulated pages that a host may give in a budget cycle; 0 = what its delay allows.
    #[arg(long, default_value_t = 0)]
    pub host_budget_pages: u64,
    /// Decides all that is drawn.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Runs the month.
pub fn run(args: &Args) -> Result<Outcome, CommandError> {
    let meter = Meter::start();
    let shape = Shape::of(args);
    let sites = Sites::new(args);
    let open = shape.open_fetches(&sites);
    output::note(format_args!(
        "{} hosts, {} simulated pages, {open} open fetches",
        args.hosts,
        sites.pages()
    ));
    let mut crawl = Crawl::new(&sites, shape, open)?;
    let started = cpu_time();
    crawl.run()?;
    let cpu_seconds = cpu_time().saturating_sub(started).as_secs_f64();
    let measured = meter.stop();
    let classes = Classes::of(&sites, crawl.contacts(), shape);
    let status = crawl.machine().status();
    let (terms, pages) = (status.terms, classes.fetched());
    if !terms.hold() || terms.done != pages {
        return Err(CommandError::Message(format!(
            "{pages} pages were fetched, and the machine says {terms:?}"
        )));
    }
    let memory_bytes = crawl.machine().memory_estimate_bytes();
    let detail = json!({
        "simulated_days": args.days,
        "open_fetches": open,
        "pages_there_are": sites.pages(),
        "pages_known": terms.accepted,
        "pages_fetched": pages,
        "robots_fetched": classes.robots(),
        "entries": crawl.entries(),
        "leases_at_the_end": terms.leased,
        "early_contacts": crawl.contacts().early(),
        "least_gap_by_delay": crawl.contacts().least_gap_ms().map(|gap_ms| rounded(ratio(gap_ms as f64, shape.delay_ms as f64))),
        "classes": classes.detail(),
        "largest_sites": classes.largest_sites(),
        "first_page_days": crawl.contacts().first_page_days(),
        "cpu_us_of_machine_and_rows_a_page": rounded(ratio(cpu_seconds * 1e6, pages as f64)),
        "active_hosts": status.active_hosts,
        "memory_estimate_bytes_an_active_host": rounded(ratio(memory_bytes as f64, status.active_hosts as f64)),
        "rows_after_a_day": crawl.rows_after_a_day().map(RowSizes::detail),
        "rows": RowSizes::of(crawl.rows()).detail(),
    });
    Outcome::new(
        ABOUT,
        (classes.saturated_percent(), classes.alone_percent()),
        &measured,
        args,
        detail,
    )
}
