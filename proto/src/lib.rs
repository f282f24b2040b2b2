//! The wire contract that every process shares: generated messages, clients and servers.
//!
//! The `.proto` files under `proto/` are the documentation; this crate holds no policy.

/// `admin.v1`: what operators ask for.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used
)]
pub mod admin_v1 {
    tonic::include_proto!("admin.v1");
}

/// `frontier.v1`: discover, lease, report and the rest of a shard's data contract.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used
)]
pub mod frontier_v1 {
    tonic::include_proto!("frontier.v1");
}

/// `raft.v1`: what nodes say to each other.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used
)]
pub mod raft_v1 {
    tonic::include_proto!("raft.v1");
}

/// `store.v1`: the page store.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used
)]
pub mod store_v1 {
    tonic::include_proto!("store.v1");
}

/// The descriptor set of every service, for gRPC reflection.
pub const DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/frontier_descriptor.bin"));

/// Trailer that carries an encoded `ErrorDetail` of the package that was called.
pub const ERROR_DETAIL_TRAILER: &str = "escapement-error-bin";
