//! `meta`: `M | shard (8)`: range, shard time, token counter, totals.
//!
//! Written at the end of every entry, and for a child by the `split` that seeds it; deleted with the shard.

use crate::{command::restore::Stage, shard_id::ShardId};

pub(crate) const TAG: u8 = b'M';
pub(crate) const SPACE: &str = "meta";

pub(crate) fn key(shard: ShardId) -> Vec<u8> {
    super::numbered(TAG, shard.0, 0)
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MetaRow {
    /// Of the partition hash.
    #[prost(fixed64, tag = "1")]
    pub first: u64,
    /// Inclusive.
    #[prost(fixed64, tag = "2")]
    pub last: u64,
    /// Shard time.
    #[prost(uint64, tag = "3")]
    pub now_ms: u64,
    /// Of the last entry.
    #[prost(uint64, tag = "4")]
    pub wall_unix_ms: u64,
    /// Newest token granted.
    #[prost(uint64, tag = "5")]
    pub token: u64,
    #[prost(uint64, tag = "6")]
    pub outbox_sequence: u64,
    #[prost(uint64, tag = "7")]
    pub outbox_waiting: u64,
    #[prost(uint64, tag = "8")]
    pub outbox_delivered: u64,
    #[prost(uint64, tag = "9")]
    pub outbox_in: u64,
    #[prost(uint64, tag = "10")]
    pub accepted: u64,
    #[prost(uint64, tag = "11")]
    pub queued: u64,
    #[prost(uint64, tag = "12")]
    pub scheduled: u64,
    #[prost(uint64, tag = "13")]
    pub leased: u64,
    #[prost(uint64, tag = "14")]
    pub done: u64,
    #[prost(uint64, tag = "15")]
    pub removed: u64,
    #[prost(uint64, tag = "16")]
    pub refused: u64,
    /// In the order of `Counter`.
    #[prost(uint64, repeated, tag = "17")]
    pub counters: Vec<u64>,
    /// Rises with each change of the shard's shape.
    #[prost(uint64, tag = "18")]
    pub epoch: u64,
    /// Splits of this shard, the last ones, in order.
    #[prost(message, repeated, tag = "19")]
    pub splits: Vec<SplitRow>,
    /// The shard it was split from.
    #[prost(fixed64, optional, tag = "20")]
    pub split_from: Option<u64>,
    /// Nothing is leased.
    #[prost(bool, tag = "31")]
    pub paused: bool,
    /// Stores that are gone for good, by id.
    #[prost(uint32, repeated, tag = "32")]
    pub dead_stores: Vec<u32>,
    /// The newest recovery; absent: none was ever needed. A split's child inherits it.
    #[prost(message, optional, tag = "40")]
    pub recovery: Option<RecoveryRow>,
    /// The restore that made the shard, or makes it; absent: none.
    #[prost(message, optional, tag = "41")]
    pub restore: Option<RestoreRow>,
}

/// How far a restore is.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct RestoreRow {
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    #[prost(enumeration = "Stage", tag = "2")]
    pub stage: i32,
    /// Newest batch of rows that was taken.
    #[prost(uint64, tag = "3")]
    pub sequence: u64,
    /// Shard time at its begin: stamps of a source's rows are moved by what that was behind.
    #[prost(uint64, tag = "4")]
    pub now_ms: u64,
}

/// A recovery: what others were granted may be unknown here.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct RecoveryRow {
    /// Drawn by whoever asked for it.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// Shard time until which any host may have been contacted; the last contact of every host is at least this.
    #[prost(uint64, tag = "2")]
    pub until_ms: u64,
    /// The counter before its jump: leases with this token or a lower one end.
    #[prost(uint64, tag = "3")]
    pub token: u64,
}

/// A split that was done, so that a repeat is answered as before.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct SplitRow {
    #[prost(fixed64, tag = "1")]
    pub child: u64,
    /// First partition hash of the child.
    #[prost(fixed64, tag = "2")]
    pub at: u64,
    /// Last partition hash of the child.
    #[prost(fixed64, tag = "3")]
    pub last: u64,
    /// That the command carried.
    #[prost(uint64, tag = "4")]
    pub epoch: u64,
}
