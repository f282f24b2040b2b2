//! For tests of this crate and of its users: several nodes in one process, power losses.

mod local_network;
mod local_transport;
mod message;
mod power_loss;

pub use local_network::LocalNetwork;
pub use local_transport::LocalTransport;
pub use message::{Fate, Message, MessageKind};
pub use power_loss::{LogSizes, copy_after_power_loss, flush_unnoticed};
