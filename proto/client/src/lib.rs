//! The client of frontier shards: one trait for in-process and gRPC frontiers, and a router over it.
//!
//! - [`Frontier`]: every call of `frontier.v1`; [`CallError`]: why a whole call failed, with its form on the wire.
//! - [`GrpcFrontier`]: a frontier in another process.
//! - [`Router`]: the shard map, leaders and hints; `offer` delivers items to their owners, `get_url` and `get_host` read.
//!   It lives with processes that die, pause and change leaders: see `call.rs`; and with shards that are split: an answer
//!   that shows a newer map makes it read that map.
//! - [`RoutedFrontier`]: a [`Frontier`] that is the whole cluster.
//! - [`Admin`]: `admin.v1`, for operators.

mod admin;
mod call;
mod error;
mod frontier;
mod grpc;
mod health;
pub mod limits;
mod lookup;
mod offer;
mod peers;
mod request_id;
mod retry;
mod routed;
mod router;
mod shard_state;
mod shard_table;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod testing;
mod traffic;
mod window;
mod wire_error;

pub use admin::{Admin, AdminError, Export};
pub use error::CallError;
pub use frontier::Frontier;
pub use grpc::{AddressError, GrpcFrontier};
pub use offer::{Offered, partition_of};
pub use peers::Peer;
pub use request_id::REQUEST_ID_KEY;
pub use retry::seed_jitter;
pub use routed::RoutedFrontier;
pub use router::{Router, RouterError, RouterOptions};
pub use shard_table::MapError;
pub use traffic::{MethodTraffic, Traffic};
