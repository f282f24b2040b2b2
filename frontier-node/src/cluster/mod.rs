//! What makes several nodes one cluster.
//!
//! | file | concept |
//! |---|---|
//! | `replica_id` | node numbers, incarnations and the ids made of them |
//! | `address_book` | where replicas are, kept on disk |
//! | `member` | who this node is, and what it knows of the cluster |
//! | `greeter` | calls of other nodes |
//! | `asking` | what is asked before groups open: who the others are, whether somebody else has this number |
//! | `founding` | what a cluster is, as told to an empty directory |
//! | `bootstrap` | an empty directory founds a cluster, or comes back to one under the next incarnation |
//! | `joining` | an empty directory joins a running cluster |
//! | `nodes_service` | what other nodes ask |
//! | `gossip` | addresses and incarnations, told every second |
//! | `takeover` | the leader's process is dead: a chosen follower does not wait |
//! | `agreed_wall` | the median of the replicas' wall clocks |

mod address_book;
mod agreed_wall;
mod asking;
mod bootstrap;
mod founding;
mod gossip;
mod greeter;
mod joining;
mod member;
mod nodes_service;
mod replica_id;
mod takeover;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

pub use address_book::{AddressBook, BookError, NodeEntry};
pub use agreed_wall::{AgreedWall, SampledWall};
pub use asking::ask_before_opening;
pub use bootstrap::{BootstrapError, bootstrap};
pub use gossip::{GossipEnd, gossip};
pub use greeter::Greeter;
pub use joining::{Newcomer, join_cluster};
pub use member::{HasLink, Member};
pub use nodes_service::NodesService;
pub use replica_id::{incarnation, node_number, replica_id, store_id};
pub use takeover::take_over;
