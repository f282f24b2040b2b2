//! Raft's messages between nodes, over gRPC: [`raftlog::Transport`] on one side, [`raftlog::Engine`] on the other.
//!
//! ```text
//! votes, transfers   -> unary calls   -> lane 0..n   \
//! appends of a group -> one stream    -> lane 0..n    > few connections a peer, dialled when first used
//! snapshots          -> one stream    -> its own lane/
//! heartbeats, pings  -> the link      -> its own connection, always open to every peer
//! ```
//!
//! - [`NetTransport`]: what a node's engine sends by. [`service`] and [`service_until`]: what receives.
//! - The link to a peer carries heartbeats of all groups in batches and samples of the peer's wall clock. When it breaks
//!   it is dialled again at once; if then nobody listens, the peer's process is dead, and
//!   [`NetTransport::refused`] says so.
//! - A peer that is down fails calls at once; one that is silent costs a caller no more than its own time limit.
//! - Messages are never sent twice by this crate, and a message for another cluster or process is refused. Ids of replicas
//!   are made into those of their processes here; which replica is meant, the engine checks.
//!
//! ```text
//! let engine_cell = Arc::new(OnceLock::new());
//! let transport = NetTransport::new(NetOptions::new(me, cluster_id), address_book, wall_clock);   // in a tokio runtime
//! let engine = Engine::open(options, transport.clone())?; engine_cell.set(engine);
//! tuned(Server::builder()).add_service(service_until(engine_cell, me, cluster_id, wall_clock, stop))
//!     .serve_with_incoming_shutdown(incoming(listener), ..).await;
//! transport.refused(); transport.wall_samples(); transport.metrics(); transport.close(); transport.closed().await
//! ```

mod accept;
mod address_book;
mod append;
mod dialer;
mod envelope;
mod lanes;
pub mod limits;
mod link;
mod metrics;
mod options;
mod outgoing;
mod peer;
mod server;
mod snapshot;
mod status;
mod transport;
mod wall;

#[cfg(test)]
mod tests;

pub use accept::{Acceptor, Connection, Speech, incoming, incoming_within};
pub use address_book::AddressBook;
pub use metrics::{KindMetrics, NetMetrics};
pub use options::NetOptions;
pub use server::{RaftService, service, service_until, tuned};
pub use transport::NetTransport;
pub use wall::{WallClock, WallSample};
