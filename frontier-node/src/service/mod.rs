//! `client::Frontier` in this process: checks, converts, asks the shard. The gRPC server is a thin skin over it.

mod discover;
mod lease;
mod local;
mod operators;
mod read;
mod report;

pub(crate) use local::{LocalFrontier, NodeShared};
