//! What a test sees of a message on its way, and what it may do to it.

use std::time::Duration;

use crate::ids::{GroupId, NodeId};
use crate::transport::CallKind;

/// What a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A request with one reply.
    Call(CallKind),
    /// One request of an append stream.
    Append,
    /// One chunk of a snapshot.
    Chunk,
}

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The process that sends it.
    pub from: NodeId,
    /// The process that is to have it.
    pub to: NodeId,
    /// The group it belongs to.
    pub group_id: GroupId,
    /// What it carries.
    pub kind: MessageKind,
    /// Its place in its stream, from 0; always 0 for a call.
    pub place: u64,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Pass,
    /// It arrives later, and what follows in its stream waits for it.
    Delay(Duration),
    /// It stays on its way until the test decides otherwise: it is asked again, every few milliseconds.
    Hold,
    /// It does not arrive, and what follows in its stream does not either.
    Lose,
    /// It does not arrive, but what follows does.
    Skip,
    /// One byte in its middle is changed.
    Spoil,
}
