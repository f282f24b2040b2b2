//! What the checker found.

use serde::Serialize;

use crate::limits;

/// Everything found in a log. Lists are cut at [`limits::MAX_LISTED`]; the totals count all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Arrivals earlier than their host's clock allows.
    pub early_contacts: Vec<EarlyContact>,
    /// URLs that should have been asked for and answered finally, and were not.
    pub missing: Vec<Missing>,
    /// Requests that should not have been made.
    pub unexpected: Vec<Unexpected>,
    /// URLs asked for oftener than allowed.
    pub repeats: Vec<Repeat>,
    /// Each host contacted, the least gap first.
    pub hosts: Vec<HostGap>,
    /// Counts of all of it.
    pub totals: Totals,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        let totals = &self.totals;
        totals.early_contacts + totals.missing + totals.unexpected + totals.repeats == 0
    }

    pub(super) fn cut_lists(&mut self) {
        let totals = &mut self.totals;
        totals.early_contacts = self.early_contacts.len() as u64;
        totals.missing = self.missing.len() as u64;
        totals.unexpected = self.unexpected.len() as u64;
        totals.repeats = self.repeats.len() as u64;
        totals.hosts_contacted = self.hosts.len() as u64;
        self.early_contacts.truncate(limits::MAX_LISTED);
        self.missing.truncate(limits::MAX_LISTED);
        self.unexpected.truncate(limits::MAX_LISTED);
        self.repeats.truncate(limits::MAX_LISTED);
        self.hosts.truncate(limits::MAX_LISTED);
    }
}

/// An arrival too soon after the one before it at the same host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlyContact {
    /// Host name.
    pub host: String,
    /// Path of the early request.
    pub path: String,
    /// Path of the request before it.
    pub previous_path: String,
    /// Arrival of the early request, in nanoseconds of the monotonic clock.
    pub t_ns: u64,
    /// Time between the two, in nanoseconds.
    pub gap_ns: u64,
    /// Time that was due, in nanoseconds.
    pub required_ns: u64,
}

/// A URL that was never answered finally.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The canonical URL.
    pub url: String,
    /// The outcome expected, or `robots` for a robots file.
    pub expected: &'static str,
    /// Requests for it, none of which had the final status.
    pub arrivals: u32,
}

/// Why a request should not have been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The manifest does not know the URL.
    Unknown,
    /// The robots file disallows it.
    Disallowed,
    /// The host's robots file answers 5xx.
    UnreachableRobots,
    /// The host's robots file had not been asked for yet.
    BeforeRobots,
    /// It was answered with a status that the manifest does not foresee.
    WrongStatus,
}

/// A request that should not have been made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unexpected {
    /// The canonical URL.
    pub url: String,
    /// Status it was answered with.
    pub status: u16,
    /// Its arrival, in nanoseconds of the monotonic clock.
    pub t_ns: u64,
    /// Why it should not have been made.
    pub reason: Reason,
}

/// A URL asked for too often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeat {
    /// The canonical URL.
    pub url: String,
    /// Requests for it.
    pub arrivals: u32,
    /// Requests allowed.
    pub allowed: u32,
}

/// The pace at one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostGap {
    /// Host name.
    pub host: String,
    /// Requests.
    pub arrivals: u32,
    /// Least time between two, in nanoseconds; null with fewer than two.
    pub min_gap_ns: Option<u64>,
    /// Least time due between pages, in nanoseconds.
    pub required_ns: u64,
}

/// Counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Requests.
    pub arrivals: u64,
    /// Requests for robots files.
    pub robots_arrivals: u64,
    /// Different URLs asked for, robots files apart.
    pub urls_contacted: u64,
    /// URLs of the manifest that should have been asked for.
    pub urls_expected: u64,
    /// Hosts asked.
    pub hosts_contacted: u64,
    /// Arrivals too early.
    pub early_contacts: u64,
    /// URLs missing.
    pub missing: u64,
    /// Requests that should not have been made.
    pub unexpected: u64,
    /// URLs asked for too often.
    pub repeats: u64,
    /// Least gap anywhere, in nanoseconds.
    pub min_gap_ns: Option<u64>,
    /// First to last arrival, in seconds.
    pub seconds: f64,
}
