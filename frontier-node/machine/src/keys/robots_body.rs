//! `robots_body`: `B | partition (8) | SHA-256 (32)`: a robots.txt as received.
//!
//! Written with the first reference to it; deleted with the last.

pub(crate) const TAG: u8 = b'B';

pub(crate) fn key(partition: u64, digest: &[u8]) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, 32);
    key.extend_from_slice(digest);
    key
}
