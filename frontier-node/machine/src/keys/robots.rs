//! `robots`: `R | partition (8) | host 0x00 | scheme (1) port (2)`: what the release of a page does not need of a robots.txt.
//!
//! Written at the end of a robots lease and by errand results; deleted with its host row.

use crate::authority::Authority;

pub(crate) const TAG: u8 = b'R';
pub(crate) const SPACE: &str = "robots";

pub(crate) fn key(partition: u64, host: &str, authority: Authority) -> Vec<u8> {
    let mut key = super::hosted(TAG, partition, host, 3);
    key.extend_from_slice(&authority.key_bytes());
    key
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RobotsRow {
    #[prost(string, tag = "1")]
    pub etag: String,
    #[prost(string, tag = "2")]
    pub last_modified: String,
    #[prost(uint32, tag = "3")]
    pub status: u32,
    #[prost(string, tag = "4")]
    pub reason: String,
    /// Token of the robots lease that was closed last.
    #[prost(uint64, tag = "5")]
    pub closed_token: u64,
    /// Asked by the rules, uncapped.
    #[prost(uint64, tag = "6")]
    pub asked_crawl_delay_ms: u64,
}
