//! The link to one peer: one connection with one stream, always open, for heartbeats and pings.

mod batch;
mod handle;
mod open;
mod session;
mod task;

pub(crate) use handle::{LinkHandle, new};
pub(crate) use task::LinkContext;
pub(crate) use task::LinkTask;
