//! What the map says.
//!
//! | file | concept |
//! |---|---|
//! | `shard_map` | one version of it all, and how it is read |
//! | `shard` | a range of the partition hash |
//! | `members` | who replicates a group; its epoch |
//! | `replica_id` | node, disk and return in one number that is never reused |
//! | `fate` | what becomes of a replica that a node finds on its disk |
//! | `node` | a node and its state |
//! | `identity` | what all processes agree on |
//! | `crawl` | a crawl |
//! | `job`, `step` | a change of shape under way, and how far it is |

pub(crate) mod crawl;
mod fate;
pub(crate) mod identity;
pub(crate) mod job;
pub(crate) mod members;
pub(crate) mod node;
pub(crate) mod replica_id;
pub(crate) mod shard;
pub(crate) mod shard_map;
pub(crate) mod step;

pub use crawl::Crawl;
pub use fate::Fate;
pub use identity::Identity;
pub use job::{Evacuation, Job, MovePlan, Plan, SplitPlan};
pub use members::{Members, Replica, Role};
pub use node::{Node, NodeState};
pub use replica_id::ReplicaId;
pub use shard::{Shard, equal_ranges};
pub use shard_map::{GROUP_ZERO, ShardMap};
pub use step::Step;
