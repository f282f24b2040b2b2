//! Reports as plain text for people.

use std::fmt::{self, Display, Formatter};

use super::outcomes::OutcomeReport;
use super::report::Report;
use crate::limits::MAX_TABLE_ROWS;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        let verdict = if self.is_clean() {
            "clean"
        } else {
            "NOT CLEAN"
        };
        writeln!(f, "arrivals at the web: {verdict}")?;
        let least = totals.min_gap_ns.map_or("-".to_owned(), milliseconds);
        for (name, value) in [
            ("requests", totals.arrivals.to_string()),
            ("  of robots files", totals.robots_arrivals.to_string()),
            ("hosts contacted", totals.hosts_contacted.to_string()),
            ("URLs contacted", totals.urls_contacted.to_string()),
            ("URLs expected", totals.urls_expected.to_string()),
            ("seconds", format!("{:.1}", totals.seconds)),
            ("least gap at a host", least),
            ("early contacts", totals.early_contacts.to_string()),
            ("missing", totals.missing.to_string()),
            ("unexpected", totals.unexpected.to_string()),
            ("repeats", totals.repeats.to_string()),
        ] {
            writeln!(f, "  {name:<22}{value:>14}")?;
        }
        list(
            f,
            "early contacts",
            totals.early_contacts,
            &self.early_contacts,
            |early| {
                let (gap, due) = (milliseconds(early.gap_ns), milliseconds(early.required_ns));
                format!(
                    "{gap:>12} of {due:>12}  http://{}{} after {}",
                    early.host, early.path, early.previous_path
                )
            },
        )?;
        list(f, "missing", totals.missing, &self.missing, |missing| {
            format!(
                "{:<20} {} ({} requests)",
                missing.expected, missing.url, missing.arrivals
            )
        })?;
        list(
            f,
            "unexpected",
            totals.unexpected,
            &self.unexpected,
            |unexpected| {
                format!(
                    "{:<20} {} ({})",
                    format!("{:?}", unexpected.reason),
                    unexpected.url,
                    unexpected.status
                )
            },
        )?;
        list(f, "repeats", totals.repeats, &self.repeats, |repeat| {
            format!(
                "{:>5} of {:<5} {}",
                repeat.arrivals, repeat.allowed, repeat.url
            )
        })?;
        list(
            f,
            "least gaps",
            self.hosts.len() as u64,
            &self.hosts,
            |host| {
                let gap = host.min_gap_ns.map_or("-".to_owned(), milliseconds);
                let due = milliseconds(host.required_ns);
                format!(
                    "{gap:>12} of {due:>12}  {:>6} requests  {}",
                    host.arrivals, host.host
                )
            },
        )
    }
}

impl Display for OutcomeReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        let verdict = if self.is_clean() {
            "as foreseen"
        } else {
            "NOT as foreseen"
        };
        writeln!(f, "outcomes: {verdict}")?;
        for (name, value) in [
            ("URLs expected", totals.expected),
            ("URLs reported", totals.reported),
            ("right", totals.right),
            ("wrong", totals.wrong),
        ] {
            writeln!(f, "  {name:<22}{value:>14}")?;
        }
        for (name, rows) in [
            ("wrong outcomes", &self.wrong_outcomes),
            ("wrong digests", &self.wrong_digests),
        ] {
            list(f, name, rows.len() as u64, rows, |wrong| {
                format!(
                    "{:<18} not {:<18} {}",
                    wrong.reported.name(),
                    wrong.expected.name(),
                    wrong.url
                )
            })?;
        }
        for (name, rows) in [
            ("missing", &self.missing),
            ("unknown", &self.unknown),
            ("reported twice", &self.duplicates),
        ] {
            list(f, name, rows.len() as u64, rows, String::clone)?;
        }
        Ok(())
    }
}

fn list<T>(
    f: &mut Formatter<'_>,
    name: &str,
    total: u64,
    rows: &[T],
    row: impl Fn(&T) -> String,
) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "{name}:")?;
    for item in rows.iter().take(MAX_TABLE_ROWS) {
        writeln!(f, "  {}", row(item))?;
    }
    match total.saturating_sub(MAX_TABLE_ROWS as u64) {
        0 => Ok(()),
        more => writeln!(f, "  ... and {more} more"),
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}
