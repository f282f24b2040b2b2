//! Which nodes should replicate what: the ring proposes, pins override, the map holds the truth.
//!
//! All of it is a pure function of the map, so that every node proposes the same. Proposals carry the epoch that they
//! were made from: one that comes late is refused.
//!
//! | file | concept |
//! |---|---|
//! | `group_position` | where a group stands on the consistent-hash ring (`placement_ring`) |
//! | `outlook` | the map as it will be when all moves are done, and how much each node has then |
//! | `founding` | the first places |
//! | `on_join` | the share of a new node |
//! | `shares` | the shares of all nodes that have less |
//! | `evacuation` | the way out of a node that drains or is dead |
//! | `repairs` | lost disks, missing voters, pins |

mod evacuation;
mod founding;
mod group_position;
mod on_join;
mod outlook;
mod repairs;
mod shares;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod measured_tests;

pub use evacuation::{Evacuate, evacuation};
pub use founding::founding;
pub use group_position::group_position;
pub use on_join::on_join;
pub use placement_ring::Ring;
pub use repairs::repairs;
pub use shares::shares;
