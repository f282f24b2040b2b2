//! robots.txt (RFC 9309): what a host allows one crawler to fetch, decided from bytes alone.
//!
//! Pure: no clock, no randomness, no I/O. Bytes of a body and a product token go in, a [`Robots`] comes out; it answers
//! [`Robots::check`] for any path in time linear in the path and the rules. What to do with an answer that is *not* a
//! body (an error status, a timeout, a refused redirect) is [`RobotsPolicy::classify`].
//!
//! | file | what it holds |
//! |---|---|
//! | `robots.rs` | [`Robots`], the parsed rules of one agent, and [`Verdict`] |
//! | `parse.rs` | groups: which of them speak to the agent, merged (section 2.2.1) |
//! | `record.rs` | lines and records: byte-order mark, line ends, comments, keys and their common misspellings |
//! | `agent.rs` | product tokens |
//! | `rule.rs`, `pattern.rs`, `octets.rs` | one rule, its compiled pattern, and the normal form both sides are compared in |
//! | `delay.rs` | `Crawl-delay` as an exact decimal |
//! | `policy.rs` | from the outcome of a fetch to what holds (section 2.3.1) |
//! | `target.rs` | which robots.txt speaks for a URL, and what of the URL is compared (section 2.3) |
//! | `limits.rs` | every limit |
//!
//! # Choices where the RFC leaves room
//!
//! - A few common misspellings (`Dissallow`, `Useragent`, ...) and a missing colon (`Disallow /x`, exactly two words) are
//!   accepted: section 2.2.4 lets crawlers be lenient, section 2.3.1.5 wants every parseable rule used, and the owner's wish
//!   is plain. Any other unknown key is an "other record" and ends nothing.
//! - A pattern that starts with neither `/` nor `*` can match no path; it is ignored, yet it closes its group's list of agents.
//! - `Crawl-delay` belongs to its whole group, wherever in the group it stands; of several the largest counts.
//! - A body cut at the size limit loses its last, incomplete line: half a pattern would forbid or allow too much.

mod agent;
mod delay;
pub mod limits;
mod octets;
mod parse;
mod pattern;
mod policy;
mod record;
mod robots;
mod rule;
pub mod target;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod field_cases;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod properties;

pub use policy::{Failure, Policy, RobotsAnswer, RobotsPolicy};
pub use robots::{Robots, Verdict};
