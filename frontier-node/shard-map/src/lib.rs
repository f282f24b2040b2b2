//! The shard map: the state machine of group 0, as a pure, deterministic function of its log.
//!
//! The map says which ranges of the partition hash there are, who replicates them, which nodes there are, and which
//! changes of shape are under way. Group 0 replicates it; everybody routes by a copy; whoever leads group 0 drives its
//! jobs.
//!
//! ```text
//! Command --apply--> ShardMap (next version)          planners: ShardMap (+ what was measured) -> commands to propose
//!            +-----> Accepted or Refusal                 placement::{on_join, evacuation, repairs}
//!                                                        policy::{wanted_transfers, proposed_splits}
//! ```
//!
//! - A refusal is an answer: the same on every node, and nothing was changed.
//! - A command that was applied before is accepted again and changes nothing, so any of them may be sent twice.
//! - A job is a list of steps. Each step is taken outside group 0, idempotently, and then recorded; the record says
//!   what is safe to do next. Whoever dies in between leaves a job that the next driver goes on with, or takes back
//!   while that is safe.
//!
//! | folder | concept |
//! |---|---|
//! | `model` | what the map says |
//! | `command` | what changes it, one command a file |
//! | `invariants` | what holds in every map, and from one to the next |
//! | `placement` | which nodes should replicate what: the ring, and the moves towards it |
//! | `policy` | who should lead, and what should be split |
//! | `encoding`, `refusal`, `limits` | bytes, reasons, bounds |

mod apply;
pub mod command;
mod encoding;
pub mod invariants;
pub mod limits;
mod model;
pub mod placement;
pub mod policy;
mod refusal;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod testing;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

pub use apply::{Accepted, apply};
pub use command::{Body, Command};
pub use encoding::{DecodeError, LAYOUT};
pub use model::*;
pub use refusal::Refusal;
