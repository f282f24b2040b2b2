//! `crawl`: `C | shard (8) | crawl (4)`: a crawl's policy.
//!
//! Written by `set_policy` and `remove`, and for a child by `split` (copies of the parent's); never deleted, for ids are not reused and late links must be refused.

use crate::{command::set_policy::CrawlPolicy, shard_id::ShardId};

pub(crate) const TAG: u8 = b'C';
pub(crate) const SPACE: &str = "crawl";

pub(crate) fn key(shard: ShardId, crawl: u32) -> Vec<u8> {
    let mut key = super::numbered(TAG, shard.0, 4);
    key.extend_from_slice(&crawl.to_be_bytes());
    key
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct CrawlRow {
    #[prost(message, optional, tag = "1")]
    pub policy: Option<CrawlPolicy>,
    #[prost(bool, tag = "2")]
    pub removed: bool,
    /// The removal also forgets.
    #[prost(bool, tag = "3")]
    pub forget: bool,
}
