//! What the web saw against what the manifest and the kills allow.

use super::child::Crawl;
use crate::output::CommandError;
use ::fakeweb::{
    AllowedRepeats, Arrival, CheckOptions, CrawlOutcome, Manifest, Outcome, OutcomeReport, Report,
    check, compare_outcomes,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// What was in flight at the kills.
#[derive(Debug, Default)]
pub struct Kills {
    rounds: u32,
    in_flight: AllowedRepeats,
}

impl Kills {
    /// One kill and the URLs leased at it.
    pub fn add(&mut self, leased: Vec<String>) {
        self.rounds += 1;
        for url in leased {
            *self.in_flight.entry(url).or_default() += 1;
        }
    }
}

/// The judgement.
pub struct Verdict {
    web: Report,
    outcomes: OutcomeReport,
    kills: u32,
    in_flight: usize,
    delay: Duration,
}

impl Verdict {
    /// Judges a whole run.
    pub fn of(
        arrivals: Vec<Arrival>,
        manifest: &Manifest,
        outcomes: Vec<CrawlOutcome>,
        kills: &Kills,
        crawl: &Crawl,
    ) -> Self {
        let options = CheckOptions {
            min_delay_ms: u32::try_from(crawl.delay.as_millis()).unwrap_or(u32::MAX),
            allowed_repeats: kills.in_flight.clone(),
            attempts: BTreeMap::from([
                (Outcome::ServerError, crawl.attempts),
                (Outcome::Truncated, crawl.attempts),
            ]),
            ..CheckOptions::default()
        };
        Self {
            web: check(arrivals, manifest, &options),
            outcomes: compare_outcomes(outcomes, manifest),
            kills: kills.rounds,
            in_flight: kills.in_flight.len(),
            delay: crawl.delay,
        }
    }

    /// Whether every promise held.
    pub fn holds(&self) -> bool {
        self.web.is_clean() && self.outcomes.is_clean()
    }

    /// For scripts.
    pub fn json(&self, summary: &Value) -> Result<String, CommandError> {
        let value = json!({
            "holds": self.holds(),
            "kills": self.kills,
            "in_flight_at_kills": self.in_flight,
            "early_contacts": self.web.totals.early_contacts,
            "lost_urls": self.web.totals.missing + self.outcomes.missing.len() as u64,
            "repeats": self.web.totals.repeats,
            "web": &self.web.totals,
            "outcomes": &self.outcomes.totals,
            "crawl": summary,
        });
        serde_json::to_string(&value).map_err(|e| CommandError::of("cannot write JSON", e))
    }

    /// For people.
    pub fn table(&self, summary: &Value) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", self.web);
        let _ = writeln!(text, "{}", self.outcomes);
        let least = self
            .web
            .totals
            .min_gap_ns
            .map_or("-".to_owned(), |ns| format!("{:.1} ms", ns as f64 / 1e6));
        let _ = writeln!(
            text,
            "killed {} times with {} leases out; least gap at any host {least} (asked: {} ms)",
            self.kills,
            self.in_flight,
            self.delay.as_millis()
        );
        let _ = writeln!(text, "crawl: {summary}");
        let _ = write!(
            text,
            "early contacts {}, lost URLs {}, repeats beyond what was in flight {}: {}",
            self.web.totals.early_contacts,
            self.web.totals.missing + self.outcomes.missing.len() as u64,
            self.web.totals.repeats,
            if self.holds() {
                "every promise held"
            } else {
                "A PROMISE BROKE"
            }
        );
        text
    }
}
