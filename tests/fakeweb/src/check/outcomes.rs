//! What a crawler reports against the manifest.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::manifest::{Manifest, Outcome};

/// What a crawler says of one URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlOutcome {
    /// Canonical URL.
    pub url: String,
    /// What became of it, in the manifest's terms.
    pub outcome: Outcome,
    /// SHA-256 of the payload, in hex, if it has one.
    #[serde(default)]
    pub digest: Option<String>,
}

/// A URL whose outcome or digest differs from the manifest's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongOutcome {
    /// Canonical URL.
    pub url: String,
    /// What the manifest foresees.
    pub expected: Outcome,
    /// What the crawler says.
    pub reported: Outcome,
    /// The digest the manifest foresees.
    pub expected_digest: Option<String>,
    /// The digest the crawler gives.
    pub reported_digest: Option<String>,
}

/// What differs. Lists are cut at [`limits::MAX_LISTED`]; the totals count all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeReport {
    /// URLs of another outcome than foreseen.
    pub wrong_outcomes: Vec<WrongOutcome>,
    /// URLs of the outcome foreseen, with another or no digest.
    pub wrong_digests: Vec<WrongOutcome>,
    /// URLs the crawler says nothing of.
    pub missing: Vec<String>,
    /// URLs the manifest does not know.
    pub unknown: Vec<String>,
    /// URLs reported twice or oftener.
    pub duplicates: Vec<String>,
    /// Counts.
    pub totals: OutcomeTotals,
}

/// Counts of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeTotals {
    /// Reports taken.
    pub reported: u64,
    /// URLs in the manifest.
    pub expected: u64,
    /// URLs reported exactly as foreseen.
    pub right: u64,
    /// Everything in the lists.
    pub wrong: u64,
}

impl OutcomeReport {
    /// Whether every URL ended as foreseen, once.
    pub fn is_clean(&self) -> bool {
        self.totals.wrong == 0
    }
}

/// Compares a crawler's outcomes with the manifest's. Digests are compared where the manifest has one.
pub fn compare_outcomes(
    reported: impl IntoIterator<Item = CrawlOutcome>,
    manifest: &Manifest,
) -> OutcomeReport {
    let mut report = OutcomeReport::default();
    let mut seen = BTreeSet::new();
    for said in reported {
        report.totals.reported += 1;
        if !seen.insert(said.url.clone()) {
            report.duplicates.push(said.url);
            continue;
        }
        let Some(entry) = manifest.entries.get(&said.url) else {
            report.unknown.push(said.url);
            continue;
        };
        let right_digest = entry.digest.is_none() || entry.digest == said.digest;
        if entry.outcome == said.outcome && right_digest {
            report.totals.right += 1;
            continue;
        }
        let list = if entry.outcome == said.outcome {
            &mut report.wrong_digests
        } else {
            &mut report.wrong_outcomes
        };
        list.push(WrongOutcome {
            url: said.url,
            expected: entry.outcome,
            reported: said.outcome,
            expected_digest: entry.digest.clone(),
            reported_digest: said.digest,
        });
    }
    report.totals.expected = manifest.entries.len() as u64;
    report.missing = manifest
        .entries
        .keys()
        .filter(|url| !seen.contains(*url))
        .cloned()
        .collect();
    report.count_and_cut();
    report
}

impl OutcomeReport {
    fn count_and_cut(&mut self) {
        let mut wrong = 0;
        for list in [&mut self.wrong_outcomes, &mut self.wrong_digests] {
            wrong += list.len();
            list.truncate(limits::MAX_LISTED);
        }
        for list in [&mut self.missing, &mut self.unknown, &mut self.duplicates] {
            wrong += list.len();
            list.truncate(limits::MAX_LISTED);
        }
        self.totals.wrong = wrong as u64;
    }
}
