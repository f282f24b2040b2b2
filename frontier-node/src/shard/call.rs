//! One command on its way through the log, and its answer.

use std::time::Instant;

use client::CallError;
use machine::{Command, CommandReply};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A command that waits for an entry.
pub(crate) struct Call {
    pub(crate) command: Command,
    pub(crate) size_bytes: usize,
    pub(crate) answer: oneshot::Sender<Result<Answer, CallError>>,
    /// Its share of the node's waiting bytes; given back when it is answered.
    pub(crate) bytes: OwnedSemaphorePermit,
}

/// What a committed and applied command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) reply: CommandReply,
    /// Shard time of its entry.
    pub(crate) now_ms: u64,
    /// The leadership that proposed it.
    pub(crate) term: u64,
    /// When its entry was stamped.
    pub(crate) stamped: Instant,
}
