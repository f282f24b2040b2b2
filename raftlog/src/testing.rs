//! For tests of this crate and of its users: several nodes in one process, power losses.

mod local_transport;
mod power_loss;

pub use local_transport::{LocalNetwork, LocalTransport};
pub use power_loss::{LogSizes, copy_after_power_loss, flush_unnoticed};
