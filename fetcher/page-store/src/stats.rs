//! Counts of a store.

/// What is stored, over all openings, and what this opening did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Records, `warcinfo` included.
    pub records: u64,
    /// Compressed bytes of all records.
    pub bytes: u64,
    /// Payloads stored (`response` records).
    pub payloads: u64,
    /// Bytes of those payloads before compression.
    pub payload_bytes: u64,
    /// Captures whose payload was known (`revisit`, identical payload).
    pub duplicates: u64,
    /// Answers 304 (`revisit`, not modified).
    pub unmodified: u64,
    /// Segment files.
    pub segments: u64,
    /// `fdatasync` calls on segments since the store was opened.
    pub fsyncs: u64,
}
