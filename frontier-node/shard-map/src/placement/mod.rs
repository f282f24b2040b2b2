//! Which nodes should replicate what: the ring proposes, pins override, the map holds the truth.
//!
//! All of it is a pure function of the map, so that every node proposes the same. Proposals carry the epoch that they
//! were made from: one that comes late is refused.
//!
//! | file | concept |
//! |---|---|
//! | `ring` | the consistent-hash ring |
//! | `outlook` | the map as it will be when all moves are done, and how much each node has then |
//! | `founding` | the first places |
//! | `on_join` | the share of a new node |
//! | `evacuation` | the way out of a node that drains or is dead |
//! | `repairs` | lost disks, missing voters, pins |

mod evacuation;
mod founding;
mod on_join;
mod outlook;
mod repairs;
mod ring;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod measured_tests;

pub use evacuation::{Evacuate, evacuation};
pub(crate) use founding::founding;
pub use on_join::on_join;
pub use repairs::repairs;
pub use ring::{Ring, group_position};
