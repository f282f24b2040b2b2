//! The shards of this node, whose number grows and shrinks: a split makes a child beside its parent, out of rows that are there; the
//! map gives this node replicas and takes them away.
//!
//! ```text
//! split_shard -> entry in the parent's log -> applied at each replica: range and rows, one batch -> local map names the child
//!      child's group: created (rows flushed, then descriptor), opened -> its parent's leader stands for its first election
//! map names a replica here -> created empty, opened -> fed by the leader of its group
//! map took it away         -> out of use -> removed: tombstone, rows, log
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `registry` | the open shards |
//! | `boot` | the shards of a node that starts |
//! | `keeper` | follows the map and the replicas here: opens, makes, removes |
//! | `places` | what a copy of the map says of this node's replicas |
//! | `opening` | children out of their parents' rows; replicas by the map |
//! | `first_election` | a child is led by its parent's leader, without waiting for a timeout |
//! | `split` | the call that splits a shard, on its leader |
//! | `split_points` | where a shard may be split |
//! | `standing` | how a shard is here, for whoever drives a change of shape |

mod boot;
mod first_election;
mod keeper;
mod opening;
mod places;
mod registry;
mod split;
mod split_points;
mod standing;

pub(crate) use boot::open_shards;
pub(crate) use keeper::Keeper;
pub(crate) use opening::Late;
pub(crate) use registry::Shards;
pub use split::{SplitDone, SplitError, SplitRequest};
pub use split_points::{SplitAim, SplitPlaces};
pub use standing::ShardStanding;
