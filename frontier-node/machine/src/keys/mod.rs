//! The row spaces, one a file. A key is a pinned tag byte, then (for all but the per-shard spaces) the partition hash,
//! big-endian, so that a shard is one contiguous range of each space and a split moves no data.
//!
//! The spaces keyed by the shard's number instead are `meta`, `crawl` and `session`, and nothing else is keyed by it: of
//! these a split writes the child's own (`command/split`). Whoever adds another decides there what a child gets of it.
//!
//! Sites have no space of their own: hosts and queued URLs of a site are sums over its host rows, which are all in memory,
//! so that a row per site would only cost a write for each new URL.

pub(crate) mod crawl;
pub(crate) mod errand;
pub(crate) mod host;
pub(crate) mod lease;
pub(crate) mod meta;
pub(crate) mod outbox;
pub(crate) mod queue;
pub(crate) mod robots;
pub(crate) mod robots_body;
pub(crate) mod robots_reference;
pub(crate) mod schedule;
pub(crate) mod seen;
pub(crate) mod session;
pub(crate) mod url;

use crate::{error::MachineError, shard_id::ShardId};

/// Tags of the spaces keyed by partition hash.
const PARTITIONED: [u8; 11] = [
    robots_body::TAG,
    robots_reference::TAG,
    errand::TAG,
    host::TAG,
    lease::TAG,
    outbox::TAG,
    queue::TAG,
    robots::TAG,
    seen::TAG,
    url::TAG,
    schedule::TAG,
];

/// Every tag byte the machine's rows start with. A store that holds other rows beside them keeps clear of these.
pub const TAGS: [u8; 14] = [
    robots_body::TAG,
    crawl::TAG,
    robots_reference::TAG,
    errand::TAG,
    host::TAG,
    lease::TAG,
    meta::TAG,
    session::TAG,
    outbox::TAG,
    queue::TAG,
    robots::TAG,
    seen::TAG,
    url::TAG,
    schedule::TAG,
];

/// All key ranges (`from <= key < to`) of a shard that holds the partition hashes `first..=last`: of each partitioned space that
/// part, and of the three spaces keyed by the shard's number (`meta`, `crawl`, `session`) the shard's own rows.
///
/// Shards with disjoint ranges have disjoint key ranges, so a snapshot of one never holds or covers a row of another. A snapshot
/// taken after a split covers the parent's smaller range and none of the child's rows, not even its `meta`. A replica that
/// lagged and installs it deletes what *its* rows of the shard covered before, that is the key ranges of the range
/// in its own `meta` ([`crate::Machine::stored_range`]):
///
/// - it had not applied the split: also what is the child's now, which is then free for the child's own snapshot. No live child
///   can be beside it, for a group is created only over free range;
/// - it had applied the split: the smaller range, and a live child beside it keeps every row.
pub fn key_ranges(shard: ShardId, first: u64, last: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut ranges: Vec<_> = PARTITIONED
        .iter()
        .map(|tag| partitions(*tag, first, last))
        .collect();
    ranges
        .extend([meta::TAG, crawl::TAG, session::TAG].map(|tag| partitions(tag, shard.0, shard.0)));
    ranges.sort();
    ranges
}

/// The range of one space over the numbers `first..=last` after the tag.
pub(crate) fn partitions(tag: u8, first: u64, last: u64) -> (Vec<u8>, Vec<u8>) {
    let to = match last.checked_add(1) {
        Some(end) => numbered(tag, end, 0),
        None => vec![tag + 1],
    };
    (numbered(tag, first, 0), to)
}

/// A key's start: tag and number, with room for `more` bytes.
fn numbered(tag: u8, number: u64, more: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(9 + more);
    key.push(tag);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// A key's start for the spaces below a host: tag, partition, host, 0x00.
fn hosted(tag: u8, partition: u64, host: &str, more: usize) -> Vec<u8> {
    let mut key = numbered(tag, partition, host.len() + 1 + more);
    key.extend_from_slice(host.as_bytes());
    key.push(0);
    key
}

/// The range of all keys that start with `prefix`, whose last byte is below 255.
fn below(prefix: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut to = prefix.clone();
    if let Some(last) = to.last_mut() {
        *last = last.saturating_add(1);
    }
    (prefix, to)
}

/// The big-endian number at `at`.
pub(crate) fn number_at(space: &'static str, key: &[u8], at: usize) -> Result<u64, MachineError> {
    let bytes = at
        .checked_add(8)
        .and_then(|end| key.get(at..end))
        .and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(u64::from_be_bytes)
        .ok_or_else(|| MachineError::corrupt(space, "key too short"))
}

/// Decodes a row's value.
pub(crate) fn decode<M: prost::Message + Default>(
    space: &'static str,
    value: &[u8],
) -> Result<M, MachineError> {
    M::decode(value).map_err(|error| MachineError::corrupt(space, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
