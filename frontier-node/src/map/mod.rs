//! Group 0 on this node: the shard map, replicated by a Raft group of its own, and the driver of its jobs.
//!
//! ```text
//! change -> node that leads group 0 -> log -> shard_map::apply -> copy of every node (watched)
//!                                                  |
//!              driver on that node: next step of each job -> Shaper -> the shard's leader
//! ```
//!
//! - Group 0 is founded empty on every founding node; its first leader founds the map from the node's descriptor. So a
//!   directory that was made before there was a group 0 gets one when it is opened.
//! - Every proposal is fenced to a leadership. A driver that was deposed changes nothing any more; what it still asks of
//!   shards is what the next driver asks as well, and may be done twice.
//! - Nothing on the way of a URL waits for group 0: while it has no leader nothing changes, and the crawl goes on.
//!
//! | file | concept |
//! |---|---|
//! | `options` | what a node that has group 0 is opened with |
//! | `map_state` | commands in, rows out: what the log calls |
//! | `map_cell` | this node's copy of the map, and each change of it |
//! | `copying` | a newer copy is fetched from whoever has it |
//! | `own_replica` | this node's replica of group 0 comes and goes as the map says |
//! | `known_nodes` | the address book follows the map |
//! | `asking` | a change is sent to wherever group 0 is led |
//! | `verdict` | what the map answered, as bytes |
//! | `map_group` | the group: propose under a leadership, prove that it lasts |
//! | `map_node` | changes from anywhere in the cluster; what the services of this node use |
//! | `founding` | the first map, from the descriptor and the address book |
//! | `upkeep` | what the leader does unasked: founds, enters what nodes have become, drives jobs |
//! | `survey` | how all nodes stand: who is silent, who leads what, how busy it is |
//! | `split_job`, `move_job` | one step of a job |
//! | `moves`, `balance`, `auto_split`, `silence` | what begins unasked |
//! | `strays` | learners that no move knows |
//! | `rules` | what of that is wanted, and how patient the driver is |
//! | `shaper` | what is asked of shards, as a trait: the driver's side of the seam |
//! | `remote` | that trait over the nodes' internal service |
//! | `standing`, `members` | how a replica of this node stands, and how its group's members change: the shards' side of the seam |

mod asking;
mod auto_split;
mod balance;
mod copying;
mod founding;
mod known_nodes;
mod map_cell;
mod map_group;
mod map_node;
mod map_state;
mod members;
mod move_job;
mod moves;
mod options;
mod own_replica;
mod remote;
mod rules;
mod shaper;
mod silence;
mod split_job;
mod standing;
mod strays;
mod survey;
mod upkeep;
mod verdict;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

pub use map_group::MapError;
pub use options::MapOptions;
pub use rules::ShapeRules;
pub use shaper::{MemberChange, MemberOrder, ShapeError, Shaper, SplitOrder, Standing, Weight};

pub(crate) use asking::{ask_for_change, places_of_leader};
pub(crate) use copying::fetch;
pub(crate) use founding::identity;
pub(crate) use known_nodes::learn as learn_nodes;
pub(crate) use map_cell::{MapCell, MapView};
pub(crate) use map_group::MapGroup;
pub(crate) use map_node::{MapNode, MapParts};
pub(crate) use members::MemberError;
pub(crate) use verdict::{elsewhere, to_wire};
