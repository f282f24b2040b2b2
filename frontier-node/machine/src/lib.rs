//! The machine: a shard's state as a pure, synchronous, deterministic function of its log.
//!
//! No clock, no rng, no unordered map, no I/O: everything an entry needs is in it or in the rows.

pub mod command;
mod entry;
pub mod limits;
mod rows;

pub use entry::{Body, Command, CommandReply, Entry, Reply};
pub use rows::{Overlay, Rows, RowsError};
