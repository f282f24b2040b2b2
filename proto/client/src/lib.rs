//! The client of frontier shards: one trait for in-process and gRPC frontiers, and a router over it.
//!
//! - [`Frontier`]: every call of `frontier.v1`; [`CallError`]: why a whole call failed, with its form on the wire.
//! - [`GrpcFrontier`]: a frontier in another process.
//! - [`Router`]: the shard map, leaders and hints; `offer` delivers items to their owners, `get_url` and `get_host` read.
//! - [`RoutedFrontier`]: a [`Frontier`] that is the whole cluster.

mod error;
mod frontier;
mod grpc;
pub mod limits;
mod lookup;
mod offer;
mod retry;
mod routed;
mod router;
mod shard_table;
#[cfg(test)]
mod testing;
mod wire_error;

pub use error::CallError;
pub use frontier::Frontier;
pub use grpc::{AddressError, GrpcFrontier};
pub use offer::Offered;
pub use retry::seed_jitter;
pub use routed::RoutedFrontier;
pub use router::{Peer, Router, RouterError, RouterOptions};
pub use shard_table::MapError;
