//! What comes back: where a record went, and a page read again.

use bytes::Bytes;

use crate::capture::Truncated;
use crate::digest::Digest;

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the segment: 1 is `pages-000001.warc.gz`.
    pub segment: u32,
    /// First byte of the record's gzip member in that file.
    pub offset_bytes: u64,
    /// Size of the gzip member.
    pub size_bytes: u64,
}

impl Place {
    /// The first byte after the record.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.size_bytes)
    }
}

/// The answer to a put: the record is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// The payload's name.
    pub digest: Digest,
    /// Whether its bytes were new.
    pub outcome: Outcome,
    /// The record that this put wrote (for a duplicate: the revisit record).
    pub place: Place,
}

/// What a put wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The payload was new: a `response` record.
    Stored,
    /// The payload was here already: a `revisit` record that refers to it.
    Duplicate,
}

/// A payload as it was first captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The bytes the digest names, verified on this read.
    pub payload: Bytes,
    /// The headers as stored: see the crate's head about `X-Archive-Orig-...`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Status code of the first capture.
    pub status: u16,
    /// URL of the first capture.
    pub url: String,
    /// Time of the first capture, in milliseconds since 1970-01-01T00:00:00Z.
    pub captured_at_unix_ms: u64,
    /// Why the payload ended early, when it did.
    pub truncated: Option<Truncated>,
}
