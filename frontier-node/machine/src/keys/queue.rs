//! `queue`: `Q | partition (8) | host 0x00 | crawl (4) scheme (1) port (2) | priority (1) | due_ms (8) | fingerprint (8)`.
//!
//! A lane (crawl and authority) is one contiguous range in the order of release. Written by `discover`, by ends that requeue
//! and by due visits; deleted by `lease`, `remove` and the end of URLs behind unreachable robots.

use crate::{authority::Authority, error::MachineError};
use std::collections::BTreeMap;

pub(crate) const TAG: u8 = b'Q';
pub(crate) const SPACE: &str = "queue";

/// A place in a host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub crawl: u32,
    pub authority: Authority,
    pub priority: u8,
    pub due_ms: u64,
    pub fingerprint: u64,
}

pub(crate) fn key(partition: u64, host: &str, place: Place) -> Vec<u8> {
    let mut key = super::hosted(TAG, partition, host, 24);
    key.extend_from_slice(&place.crawl.to_be_bytes());
    key.extend_from_slice(&place.authority.key_bytes());
    key.push(place.priority);
    key.extend_from_slice(&place.due_ms.to_be_bytes());
    key.extend_from_slice(&place.fingerprint.to_be_bytes());
    key
}

/// The range of a host's queue, of one crawl in it, or of one lane.
pub(crate) fn lanes(
    partition: u64,
    host: &str,
    crawl: Option<u32>,
    authority: Option<Authority>,
) -> (Vec<u8>, Vec<u8>) {
    let mut from = super::hosted(TAG, partition, host, 24);
    let Some(crawl) = crawl else {
        return super::below(from);
    };
    from.extend_from_slice(&crawl.to_be_bytes());
    if let Some(authority) = authority {
        from.extend_from_slice(&authority.key_bytes());
    }
    let mut to = from.clone();
    // All keys that start with `from` are shorter than this.
    to.extend_from_slice(&[u8::MAX; 25]);
    (from, to)
}

pub(crate) fn parse(partition: u64, host: &str, key: &[u8]) -> Result<Place, MachineError> {
    let start = super::hosted(TAG, partition, host, 0);
    let bytes: &[u8; 24] = key
        .strip_prefix(start.as_slice())
        .and_then(|rest| rest.try_into().ok())
        .ok_or_else(|| MachineError::corrupt(SPACE, "key of another host or length"))?;
    let [c0, c1, c2, c3, https, p0, p1, priority, ..] = *bytes;
    Ok(Place {
        crawl: u32::from_be_bytes([c0, c1, c2, c3]),
        authority: Authority {
            https: https != 0,
            port: u16::from_be_bytes([p0, p1]),
        },
        priority,
        due_ms: super::number_at(SPACE, bytes, 8)?,
        fingerprint: super::number_at(SPACE, bytes, 16)?,
    })
}

/// A queued URL. One that was leased before has its fields in its `url` row and only `tried` here.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct QueueRow {
    #[prost(bool, tag = "1")]
    pub tried: bool,
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
}
