//! `session`: `N | shard (8) | session (16)`: the last answer to a fetcher's session.
//!
//! Written by `lease`; deleted when no lease of it can be out any more. A split's child inherits none.

use crate::{command::lease::LeaseKey, shard_id::ShardId};

pub(crate) const TAG: u8 = b'N';
pub(crate) const SPACE: &str = "session";

pub(crate) fn key(shard: ShardId, session: &[u8]) -> Vec<u8> {
    let mut key = super::numbered(TAG, shard.0, 16);
    key.extend_from_slice(session);
    key
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SessionRow {
    /// Newest number answered.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Shard time.
    #[prost(uint64, tag = "2")]
    pub expires_ms: u64,
    #[prost(message, repeated, tag = "3")]
    pub grants: Vec<GrantRow>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct GrantRow {
    #[prost(message, required, tag = "1")]
    pub key: LeaseKey,
    #[prost(uint64, tag = "2")]
    pub token: u64,
}
