//! The client of frontier shards: one trait for in-process and gRPC frontiers, and a router over it.

mod error;
mod frontier;

pub use error::CallError;
pub use frontier::Frontier;
