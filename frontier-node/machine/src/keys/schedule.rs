//! `schedule`: `V | partition (8) | host 0x00 | due_unix_ms (8) | fingerprint (8)`: next visit of a URL.
//!
//! Written by `report`; deleted when the visit is due and by `remove`.

use crate::error::MachineError;

pub(crate) const TAG: u8 = b'V';
pub(crate) const SPACE: &str = "schedule";

pub(crate) fn key(partition: u64, host: &str, due_unix_ms: u64, fingerprint: u64) -> Vec<u8> {
    let mut key = super::hosted(TAG, partition, host, 16);
    key.extend_from_slice(&due_unix_ms.to_be_bytes());
    key.extend_from_slice(&fingerprint.to_be_bytes());
    key
}

/// All visits of a host.
pub(crate) fn of_host(partition: u64, host: &str) -> (Vec<u8>, Vec<u8>) {
    super::below(super::hosted(TAG, partition, host, 0))
}

/// Due date and fingerprint.
pub(crate) fn parse(host: &str, key: &[u8]) -> Result<(u64, u64), MachineError> {
    let start = 1 + 8 + host.len() + 1;
    if key.len() != start + 16 {
        return Err(MachineError::corrupt(SPACE, "key of another length"));
    }
    Ok((
        super::number_at(SPACE, key, start)?,
        super::number_at(SPACE, key, start + 8)?,
    ))
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct ScheduleRow {
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    #[prost(bool, tag = "2")]
    pub https: bool,
    #[prost(uint32, tag = "3")]
    pub port: u32,
    #[prost(uint32, tag = "4")]
    pub priority: u32,
}
