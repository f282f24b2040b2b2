//! The fetcher: leases work from the frontier, asks web servers, stores pages, sends links out, reports.
//!
//! It holds no state that matters: every lease ends in exactly one report or release, or expires, and every step may be
//! repeated. It talks to the frontier through [`client::Frontier`] and [`Links`] only, contacts nothing it has no lease
//! for, and never later than the lease's deadline on its own clock.
//!
//! | file | concept |
//! |---|---|
//! | `cycle.rs` | **one page lease's life, top to bottom**; `reading.rs` its body, `outgoing.rs` its links |
//! | `robots_cycle.rs`, `errand_cycle.rs`, `robots_fetch.rs` | robots.txt, by its own host's lease and on another's behalf |
//! | `fetcher.rs`, `pool.rs`, `leaser.rs`, `slots.rs`, `balance.rs` | start and stop, lease calls, slots, where capacity goes |
//! | `held.rs`, `report.rs` (`report_item.rs`), `outcome.rs` | a lease in our hands, its end on its way, which end it is |
//! | `deadline.rs`, `contact.rs` | until when a host may be contacted, and how it was |
//! | `http/`, `decode/` | one GET within deadlines and caps; content codings undone while streaming |
//! | `dns/`, `addresses.rs` | names to addresses, and which of those may be connected to |
//! | `redirect.rs`, `conditional.rs`, `retry_after.rs` | what response fields mean |
//! | `robots_cache.rs`, `links.rs`, `offers.rs`, `pages.rs`, `cluster_pages.rs`, `scope.rs`, `budget.rs`, `pause.rs` | what cycles share (`context.rs`) |
//! | `config.rs`, `limits.rs`, `metrics.rs` | settings, every bound, counters |
//! | `process/`, `main.rs` | the fetcher as a process |
//!
//! # Choices
//!
//! - `noindex` pages are stored, their links followed, and their report says so: the wish is about an index.
//! - A body that stalls, drips or outlasts its time is an error with its reason; only a size cap makes a truncated page.
//! - A connection attempt counts as contact without response, even one that was refused.

mod addresses;
mod balance;
mod budget;
mod cluster_pages;
mod conditional;
mod config;
mod contact;
mod context;
mod cycle;
mod deadline;
mod decode;
pub mod dns;
mod errand_cycle;
mod fetcher;
mod held;
pub mod http;
mod leaser;
pub mod limits;
mod links;
mod metrics;
mod offers;
mod outcome;
mod outgoing;
mod pages;
mod pause;
mod pool;
pub mod process;
mod reading;
mod redirect;
mod report;
mod report_item;
mod retry_after;
mod robots_cache;
mod robots_cycle;
mod robots_fetch;
mod scope;
mod slots;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod cases;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod testing;

pub use addresses::{AddressError, AddressGate, Reach, reach};
pub use cluster_pages::ClusterPages;
pub use config::{ConfigError, FetcherConfig, HttpConfig, Oversize};
pub use contact::{Contact, ContactTrace};
pub use context::Parts;
pub use deadline::{BootInstant, Deadline};
pub use decode::DecodeError;
pub use fetcher::{Fetcher, Gauges, StartError, new_session};
pub use links::{KnownLinks, Links};
pub use metrics::{Counter, Metrics};
pub use pages::{LocalPages, Pages, StoreError, StoredPage};
pub use redirect::RedirectError;
pub use scope::{CrawlRules, Crawls, Scope};
