//! A deterministic fake web, and the judge of a crawl over it.
//!
//! One process serves many hosts on one loopback listener, told apart by the `Host` header. What a
//! URL answers is a pure function of (seed, host, path), so the same seed gives the same bytes, a
//! million hosts cost no memory, and the [manifest](write_manifest) of what is reachable can be
//! written without serving anything.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | what is generated: number of hosts, shape, features |
//! | `web` | the pure web: host names, sizes, robots files, URLs, pages |
//! | `manifest` | each reachable URL with its expected outcome |
//! | `server` | the listener, the responses, the arrival log |
//! | `check` | the independent checker: arrivals and outcomes against a manifest |
//! | `hostile` | raw servers that break one rule each |
//!
//! The crate depends on no crate of the product, so that the judge shares no bug with the judged.
//!
//! # What "reachable" means
//!
//! From the seed URL (the root of host 0), by a crawler with scope *any* that keeps RFC 9309: it
//! follows `<a href>` and `<area href>` of every HTML answer with status 200, follows `Location` of
//! 301, 302, 303, 307 and 308, obeys each host's robots file, and calls two spellings one URL when
//! they are equal after WHATWG parsing, removal of the fragment and of a trailing host dot, decoding
//! of percent-encoded unreserved characters and upper-casing of other escapes.

mod check;
pub mod hostile;
pub mod limits;
mod manifest;
mod options;
#[cfg(test)]
mod reference_crawl;
mod rng;
mod server;
mod web;

pub use check::{
    AllowedRepeats, CheckOptions, CrawlOutcome, EarlyContact, HostGap, Missing, OutcomeReport,
    OutcomeTotals, Reason, Repeat, Report, Totals, Unexpected, WrongOutcome, check,
    compare_outcomes, read_arrivals,
};
pub use manifest::{
    HostFacts, Manifest, ManifestEntry, ManifestError, Outcome, entries, write_manifest,
};
pub use options::{FakeWebError, FakeWebOptions, Features, Shape};
pub use server::{Arrival, FakeWeb, RunningFakeWeb, monotonic_ns};
