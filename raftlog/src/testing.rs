//! For tests of this crate and of its users: several nodes in one process.

mod local_transport;

pub use local_transport::{LocalNetwork, LocalTransport};
