//! The independent checker: what arrived, and what a crawler says, against the manifest.
//!
//! It knows politeness only as a web server sees it: times of arrival at a host name.

mod coverage;
mod gaps;
mod options;
mod outcomes;
mod report;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead};

pub use options::{AllowedRepeats, CheckOptions};
pub use outcomes::{CrawlOutcome, OutcomeReport, OutcomeTotals, WrongOutcome, compare_outcomes};
pub use report::{EarlyContact, HostGap, Missing, Reason, Repeat, Report, Totals, Unexpected};

use crate::limits;
use crate::manifest::Manifest;
use crate::server::Arrival;

/// Judges arrivals, in any order and from any number of servers of one machine and boot.
pub fn check(
    arrivals: impl IntoIterator<Item = Arrival>,
    manifest: &Manifest,
    options: &CheckOptions,
) -> Report {
    let mut arrivals: Vec<Arrival> = arrivals.into_iter().collect();
    arrivals.sort_by_key(|arrival| arrival.t_ns);
    let mut report = Report::default();
    gaps::judge(&arrivals, manifest, options, &mut report);
    coverage::judge(&arrivals, manifest, options, &mut report);
    report.cut_lists();
    report
}

/// Reads an arrival log. The last line may be torn if the server was killed; another bad line is an error.
pub fn read_arrivals(mut input: impl BufRead) -> io::Result<Vec<Arrival>> {
    let mut arrivals = Vec::new();
    let mut text = String::new();
    for line in 1u64.. {
        text.clear();
        if input.read_line(&mut text)? == 0 {
            break;
        }
        let whole = text.ends_with('\n');
        match serde_json::from_str(&text) {
            Ok(arrival) if text.len() <= limits::MAX_LINE_BYTES => arrivals.push(arrival),
            Ok(_) => return Err(invalid(format!("arrival log line {line} is too long"))),
            Err(_) if !whole => break,
            Err(error) => return Err(invalid(format!("arrival log line {line}: {error}"))),
        }
    }
    Ok(arrivals)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
