//! What a crawled web saw: how close two contacts of one host came.

use crate::output::CommandError;
use fakeweb::{Arrival, CheckOptions, Manifest, check, read_arrivals};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Contacts of hosts, as the web's log has them.
#[derive(Debug)]
pub struct Judged {
    /// Requests.
    pub arrivals: usize,
    /// Requests earlier than the delay after the one before at the same host.
    pub early_contacts: u64,
    hosts: u64,
    least_gap_ms: f64,
}

impl Judged {
    /// Reads a log of arrivals and judges it.
    pub fn read(log: &Path, delay_ms: u32) -> Result<Self, CommandError> {
        let file = File::open(log).map_err(|e| CommandError::io("cannot open the web's log", e))?;
        let arrivals = read_arrivals(BufReader::new(file))
            .map_err(|e| CommandError::io("cannot read the web's log", e))?;
        Ok(Self::of(arrivals, delay_ms))
    }

    /// Judges by the times at each host alone: what a bench leaves unfetched is no fault.
    fn of(arrivals: Vec<Arrival>, delay_ms: u32) -> Self {
        let options = CheckOptions {
            min_delay_ms: delay_ms,
            robots_first: false,
            complete: false,
            ..CheckOptions::default()
        };
        let count = arrivals.len();
        let totals = check(arrivals, &Manifest::default(), &options).totals;
        Self {
            arrivals: count,
            early_contacts: totals.early_contacts,
            hosts: totals.hosts_contacted,
            least_gap_ms: totals.min_gap_ns.map_or(0.0, |gap_ns| gap_ns as f64 / 1e6),
        }
    }

    /// For the outcome's detail.
    pub fn detail(&self) -> Value {
        json!({
            "arrivals": self.arrivals,
            "early_contacts": self.early_contacts,
            "hosts_contacted": self.hosts,
            "least_gap_ms": super::outcome::rounded(self.least_gap_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_contacts_of_the_same_host_are_compared() {
        let arrival = |t_ms: u64, host: &str| Arrival {
            t_ns: t_ms * 1_000_000,
            host: host.to_owned(),
            path: format!("/{t_ms}"),
            status: 200,
            conn: 1,
        };
        let arrivals = [
            (0, "a"),
            (10, "b"),
            (1_000, "a"),
            (1_009, "b"),
            (2_500, "a"),
        ];
        let judged = Judged::of(
            arrivals.map(|(t_ms, host)| arrival(t_ms, host)).into(),
            1_000,
        );
        assert_eq!((judged.arrivals, judged.early_contacts), (5, 1));
        assert_eq!((judged.hosts, judged.least_gap_ms), (2, 999.0));
    }
}
