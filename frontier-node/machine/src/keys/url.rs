//! `url`: `U | partition (8) | fingerprint (8)`: record of a URL that was leased at least once or that ended.
//!
//! Written at every end of a page lease, and when a waiting URL ends or is removed; deleted by `remove` with `forget`.

use crate::{error::MachineError, revisit::Watch};
use std::collections::BTreeMap;

pub(crate) const TAG: u8 = b'U';
pub(crate) const SPACE: &str = "url";

pub(crate) fn key(partition: u64, fingerprint: u64) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, 8);
    key.extend_from_slice(&fingerprint.to_be_bytes());
    key
}

/// Partition and fingerprint.
pub(crate) fn parse(key: &[u8]) -> Result<(u64, u64), MachineError> {
    Ok((
        super::number_at(SPACE, key, 1)?,
        super::number_at(SPACE, key, 9)?,
    ))
}

/// What is stored of the state. `Waiting` is queued or leased; scheduled ones are told apart by their schedule row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Stored {
    Waiting = 0,
    Scheduled = 1,
    Done = 2,
    Removed = 3,
    Refused = 4,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct UrlRow {
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    #[prost(string, tag = "2")]
    pub url: String,
    #[prost(uint32, tag = "3")]
    pub depth: u32,
    #[prost(uint32, tag = "4")]
    pub redirect_hops: u32,
    #[prost(btree_map = "string, string", tag = "5")]
    pub metadata: BTreeMap<String, String>,
    #[prost(string, tag = "6")]
    pub queue_key: String,
    #[prost(enumeration = "Stored", tag = "7")]
    pub state: i32,
    /// `PageCode` of the last end with an outcome; 0 = none.
    #[prost(int32, tag = "8")]
    pub last_code: i32,
    #[prost(string, tag = "9")]
    pub last_reason: String,
    #[prost(uint32, tag = "10")]
    pub status: u32,
    #[prost(bytes = "vec", tag = "11")]
    pub digest: Vec<u8>,
    #[prost(uint32, repeated, tag = "12")]
    pub stores: Vec<u32>,
    #[prost(string, tag = "13")]
    pub etag: String,
    #[prost(string, tag = "14")]
    pub last_modified: String,
    /// Attempts at this visit.
    #[prost(uint32, tag = "15")]
    pub attempts: u32,
    #[prost(uint64, tag = "16")]
    pub fetched_unix_ms: u64,
    #[prost(uint64, tag = "17")]
    pub next_visit_unix_ms: u64,
    #[prost(uint64, tag = "18")]
    pub visits: u64,
    #[prost(uint64, tag = "19")]
    pub changes: u64,
    #[prost(uint64, tag = "20")]
    pub payload_size_bytes: u64,
    /// Token of the last lease that was closed by a report or release; repeats of it are answered as before.
    #[prost(uint64, tag = "21")]
    pub closed_token: u64,
    /// `PageCode::Requeue`-like full outbox: the closed token was answered `Requeued`.
    #[prost(bool, tag = "22")]
    pub closed_requeued: bool,
    #[prost(message, optional, tag = "23")]
    pub watch: Option<Watch>,
    #[prost(string, tag = "24")]
    pub redirect_target: String,
    #[prost(bool, tag = "25")]
    pub truncated: bool,
    /// 0 to 255.
    #[prost(uint32, tag = "26")]
    pub priority: u32,
    /// Leases of it that expired, ever.
    #[prost(uint32, tag = "27")]
    pub lost_leases: u32,
    /// Of a payload whose last copy was lost: only for telling whether the next one differs.
    #[prost(bytes = "vec", tag = "31")]
    pub lost_digest: Vec<u8>,
}

impl UrlRow {
    /// The record of a URL that comes out of the queue for the first time.
    pub fn of_queue(crawl: u32, priority: u8, row: super::queue::QueueRow) -> Self {
        Self {
            crawl,
            url: row.url,
            depth: row.depth,
            redirect_hops: row.redirect_hops,
            metadata: row.metadata,
            queue_key: row.queue_key,
            priority: u32::from(priority),
            ..Self::default()
        }
    }

    /// The record of a URL whose first lease ends.
    pub fn of_lease(lease: &super::lease::LeaseRow) -> Self {
        Self {
            crawl: lease.crawl,
            url: lease.url.clone(),
            depth: lease.depth,
            redirect_hops: lease.redirect_hops,
            metadata: lease.metadata.clone(),
            queue_key: lease.queue_key.clone(),
            priority: lease.priority,
            ..Self::default()
        }
    }

    /// Whether a conditional request can be made.
    pub fn has_validators(&self) -> bool {
        !self.etag.is_empty() || !self.last_modified.is_empty()
    }
}
