//! A put in two steps: first what the payload is, then, only if it is new here, its bytes.

use crate::capture::Capture;
use crate::claims::Claim;
use crate::digest::Digest;
use crate::gate::Pass;
use crate::page::Put;

/// A capture whose payload is named and not yet here.
#[derive(Debug, Clone)]
pub struct Announcement {
    /// The answer; its payload is left empty and not looked at.
    pub capture: Capture,
    /// The payload's digest.
    pub digest: Digest,
    /// The payload's size. For a payload that is known here it is taken as said, for the record's `Content-Length`.
    pub payload_size_bytes: u64,
}

/// The answer to an announcement.
#[derive(Debug)]
pub enum Announced {
    /// The payload is known here: the capture is recorded, durable, and no bytes are needed.
    Known(Put),
    /// The bytes are needed.
    Wanted(Box<Wanted>),
}

/// A payload that is awaited. Holds its room in memory and, unless another put of it took too long, the right to write it
/// first; both are free again when this is dropped, so whoever holds it bounds the time.
#[derive(Debug)]
pub struct Wanted {
    pub(crate) announcement: Announcement,
    pub(crate) pass: Pass,
    /// Nothing when patience with another put of the same digest ended.
    pub(crate) claim: Option<Claim>,
}

impl Wanted {
    /// What was announced.
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }
}
