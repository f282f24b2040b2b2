//! One shard on this node: the task that stamps and submits its entries, and what stands around it.
//!
//! ```text
//! calls -> queue -> task: gathers those that wait, stamps, submits -> log -> pump: hands the replies out
//! lease calls -> parking: wait for something ready, then go the same way
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `shard` | a shard as the services see it: submit, read, prove leadership |
//! | `context` | what all shards of a node share |
//! | `call` | one command on its way, and its answer |
//! | `gather` | calls that wait at the same moment share an entry |
//! | `task` | the one task that stamps and submits, fenced to a leadership; ticks |
//! | `pump` | replies to waiting calls, in log order |
//! | `parking`, `sessions` | long polls: who is parked, who is woken, what a session asked last |
//! | `filter_scan` | fills the filter of known URLs after an open |

mod call;
mod context;
mod filter_scan;
mod gather;
mod hand_over;
mod parking;
mod pump;
mod sessions;
#[allow(clippy::module_inception)]
mod shard;
mod task;

pub(crate) use call::Answer;
pub(crate) use context::ShardContext;
pub(crate) use hand_over::hand_over;
pub(crate) use parking::{Claim, Parking, Wake};
pub(crate) use sessions::{Admission, Attempt, Sessions};
pub(crate) use shard::{Shard, Shared};
pub(crate) use task::Leading;
