//! `outbox`: `O | reporting host's partition (8) | sequence (8)`: an item whose owner could not be reached.
//!
//! Written by `report`; deleted by `deliver`. Keyed by the reporting host's partition, so that a split shares it out. A child goes
//! on with its parent's sequence, so that no key comes twice.

pub(crate) const TAG: u8 = b'O';
pub(crate) const SPACE: &str = "outbox";

pub(crate) fn key(partition: u64, sequence: u64) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, 8);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// The partition of a well-formed key.
pub(crate) fn partition(key: &[u8]) -> Option<u64> {
    (key.len() == 17 && key.first() == Some(&TAG))
        .then(|| super::number_at(SPACE, key, 1).ok())
        .flatten()
}
