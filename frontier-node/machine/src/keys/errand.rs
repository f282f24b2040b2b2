//! `errand`: `E | partition (8) | host 0x00 | fingerprint (8)`: a robots redirect that waits for a fetch at this host.
//!
//! Written by `discover`; deleted when its lease closes, or after its last attempt.

use crate::command::discover::Errand;

pub(crate) const TAG: u8 = b'E';
pub(crate) const SPACE: &str = "errand";

pub(crate) fn key(partition: u64, host: &str, fingerprint: u64) -> Vec<u8> {
    let mut key = super::hosted(TAG, partition, host, 8);
    key.extend_from_slice(&fingerprint.to_be_bytes());
    key
}

/// All errands at a host.
pub(crate) fn of_host(partition: u64, host: &str) -> (Vec<u8>, Vec<u8>) {
    super::below(super::hosted(TAG, partition, host, 0))
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ErrandRow {
    #[prost(message, optional, tag = "1")]
    pub errand: Option<Errand>,
    /// Leases of it that expired.
    #[prost(uint32, tag = "2")]
    pub expiries: u32,
}
