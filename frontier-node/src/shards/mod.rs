//! The shards of this node, whose number grows: a split makes a child beside its parent, out of rows that are there.
//!
//! ```text
//! split_shard -> entry in the parent's log -> applied at each replica: range and rows, one batch -> local map names the child
//!      child's group: created (rows flushed, then descriptor), opened -> its parent's leader stands for its first election
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `registry` | the open shards |
//! | `opening` | opens what the local map names and is not open, at the start and while the node runs |
//! | `first_election` | a child is led by its parent's leader, without waiting for a timeout |
//! | `split` | the call that splits a shard, on its leader |
//! | `split_points` | where a shard may be split |
//! | `standing` | how a shard is here, for whoever drives a change of shape |

mod first_election;
mod opening;
mod registry;
mod split;
mod split_points;
mod standing;

pub(crate) use opening::{Opener, open_missing};
pub(crate) use registry::Shards;
pub use split::{SplitDone, SplitError, SplitRequest};
pub use split_points::{SplitAim, SplitPlaces};
pub use standing::ShardStanding;
