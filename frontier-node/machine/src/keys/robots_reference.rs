//! `robots_reference`: `D | partition (8) | SHA-256 (32) | robots id (8)`, empty value: an authority whose rules have this body.
//!
//! Rows instead of a count in the body, so that a reference does not rewrite up to 500 KiB. Written when an authority's
//! rules become this body; deleted when they become another or the host goes.

pub(crate) const TAG: u8 = b'D';

pub(crate) fn key(partition: u64, digest: &[u8; 32], robots_id: u64) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, 40);
    key.extend_from_slice(digest);
    key.extend_from_slice(&robots_id.to_be_bytes());
    key
}

/// All references to a body.
pub(crate) fn of_body(partition: u64, digest: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
    let mut to = key(partition, digest, u64::MAX);
    to.push(0);
    (key(partition, digest, 0), to)
}
