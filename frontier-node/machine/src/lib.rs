//! The machine: a shard's state as a pure, synchronous, deterministic function of its log.
//!
//! No clock, no rng, no unordered map, no I/O: everything an entry needs is in it or in the rows. Three layers:
//!
//! - `keys`: the row spaces, one a file: tag byte, key layout, value, who writes and who deletes.
//! - `state`: what is also in memory: hosts, leases, sessions and the ordered sets that find what is due. All of it is a
//!   function of rows, so that a machine rebuilt from rows makes the same next choice.
//! - `command` and `due`: what changes them. Every entry first does a bounded slice of the work that time made due,
//!   then its commands in order.
//!
//! A rejection is a reply. [`MachineError`] means that the rows below are unreadable or contradict each other, and stops
//! the shard.

mod apply;
mod authority;
pub mod backup;
pub mod command;
mod counters;
mod create;
mod due;
mod entry;
mod error;
mod fixed_ln;
mod hash;
pub mod invariants;
mod keys;
pub mod limits;
mod machine;
mod overlay;
mod query;
mod revisit;
mod rows;
mod shard_id;
mod state;
mod step;

#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod field_cases_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod model;
#[cfg(test)]
mod rebuild_tests;
#[cfg(test)]
mod testing;

pub use counters::Counter;
pub use entry::{Body, Command, CommandReply, Entry, Reply};
pub use error::MachineError;
pub use keys::seen::key as seen_key;
pub use keys::{TAGS, key_ranges};
pub use machine::Machine;
pub use overlay::Overlay;
pub use query::{
    AuthorityRecord, BudgetRecord, ConservationTerms, CrawlRecord, HostListing, HostRecord,
    LaneRecord, LeaseRecord, ListedUrl, Listing, Load, Outbox, ShardSettings, ShardStatus,
    SplitPoint, UrlRecord, UrlState,
};
pub use rows::{Row, Rows, RowsError};
pub use shard_id::ShardId;
