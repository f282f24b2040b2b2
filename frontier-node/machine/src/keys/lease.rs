//! `lease`: `L | partition (8) | kind (1) | fingerprint (8)`: a lease that is out.
//!
//! Written by `lease`, marked by `remove`; deleted by report, release or expiry and by nothing else.

use crate::command::{discover::Errand, lease::LeaseKey};
use std::collections::BTreeMap;

pub(crate) const TAG: u8 = b'L';
pub(crate) const SPACE: &str = "lease";

pub(crate) fn key(lease: LeaseKey) -> Vec<u8> {
    let mut key = super::numbered(TAG, lease.partition, 9);
    // Kinds are 0 to 3.
    key.push(lease.kind as u8);
    key.extend_from_slice(&lease.fingerprint.to_be_bytes());
    key
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LeaseRow {
    #[prost(message, optional, tag = "1")]
    pub key: Option<LeaseKey>,
    #[prost(uint64, tag = "2")]
    pub token: u64,
    #[prost(uint64, tag = "3")]
    pub granted_ms: u64,
    #[prost(uint64, tag = "4")]
    pub deadline_ms: u64,
    #[prost(string, tag = "5")]
    pub host: String,
    /// Position of the authority in the host row; pages and robots.
    #[prost(uint32, tag = "6")]
    pub authority: u32,
    /// Pages: as it stood in the queue, to go back there.
    #[prost(uint32, tag = "7")]
    pub crawl: u32,
    #[prost(uint32, tag = "8")]
    pub priority: u32,
    #[prost(uint64, tag = "9")]
    pub due_ms: u64,
    /// Pages: the other fields of the URL are in its `url` row.
    #[prost(bool, tag = "10")]
    pub tried: bool,
    #[prost(string, tag = "11")]
    pub url: String,
    #[prost(uint32, tag = "12")]
    pub depth: u32,
    #[prost(uint32, tag = "13")]
    pub redirect_hops: u32,
    #[prost(btree_map = "string, string", tag = "14")]
    pub metadata: BTreeMap<String, String>,
    #[prost(string, tag = "15")]
    pub queue_key: String,
    #[prost(uint64, tag = "16")]
    pub delay_ms: u64,
    /// Pages: digest of the rules; absent: everything is allowed.
    #[prost(bytes = "vec", optional, tag = "17")]
    pub robots_digest: Option<Vec<u8>>,
    /// Closes as removed.
    #[prost(bool, tag = "18")]
    pub removed: bool,
    /// Closes as never seen.
    #[prost(bool, tag = "19")]
    pub forget: bool,
    /// Robots: which try.
    #[prost(uint32, tag = "20")]
    pub attempt: u32,
    /// Errands: the errand.
    #[prost(message, optional, tag = "21")]
    pub errand: Option<Errand>,
}
