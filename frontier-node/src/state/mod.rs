//! The machine of a shard as a state machine of the replicated log.
//!
//! | file | concept |
//! |---|---|
//! | `shard_state` | entries in, rows out: what the log calls |
//! | `state_rows` | how the machine reads rows, with the filter of known URLs in front |
//! | `machine_cell` | who may look at the machine when, and what is published after each commit |
//! | `reply_board` | replies on their way to proposers of this process |
//! | `local_map` | what of the shard map is applied here |

mod local_map;
mod machine_cell;
mod reply_board;
mod shard_state;
mod state_rows;

pub(crate) use local_map::{Extent, LocalMap};
pub(crate) use machine_cell::{CellError, MachineCell, Published};
pub(crate) use reply_board::ReplyBoard;
pub(crate) use shard_state::{Forgets, ShardParts, ShardState, initial_rows};
pub(crate) use state_rows::{StateRows, ViewRows};
