//! `seen`: `S | partition (8) | fingerprint (8)`, empty value. The truth of what was accepted.
//!
//! Written by `discover` when a URL is accepted; deleted by `remove` with `forget` only.

pub(crate) const TAG: u8 = b'S';

/// Key of the row that says a URL was accepted before.
pub fn key(partition: u64, fingerprint: u64) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, 8);
    key.extend_from_slice(&fingerprint.to_be_bytes());
    key
}
