//! What the checker is told beside the manifest.

use std::collections::BTreeMap;

use crate::manifest::Outcome;

/// Requests allowed beyond the usual number, by canonical URL: for example what was in flight at a kill.
pub type AllowedRepeats = BTreeMap<String, u32>;

/// How strict the checker is.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Least time between two arrivals at a host name, in milliseconds; a longer crawl-delay counts.
    pub min_delay_ms: u32,
    /// Requests for a URL allowed beyond the usual number.
    pub allowed_repeats: AllowedRepeats,
    /// Usual number of requests for URLs of an outcome, where a crawler tries again; 1 if not named.
    pub attempts: BTreeMap<Outcome, u32>,
    /// Usual number of requests for each URL of a robots file. One that answers 5xx may be asked for
    /// without limit.
    pub robots_attempts: u32,
    /// Whether a page must come after its host's robots file; false if the log starts in mid-crawl.
    pub robots_first: bool,
    /// Whether every URL of the manifest must have been asked for; false for a crawl that was cut short.
    pub complete: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            min_delay_ms: 1000,
            allowed_repeats: AllowedRepeats::new(),
            attempts: BTreeMap::new(),
            robots_attempts: 1,
            robots_first: true,
            complete: true,
        }
    }
}
