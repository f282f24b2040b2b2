//! A snapshot on its way.

use prost::Message;

use super::{LogIdMsg, StoredMembershipMsg, VoteMsg};
use crate::raft_types::{LogId, SnapshotMeta};
use crate::rows::KeyRange;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotMetaMsg {
    #[prost(message, optional, tag = "1")]
    pub(crate) last_log_id: Option<LogIdMsg>,
    #[prost(message, required, tag = "2")]
    pub(crate) membership: StoredMembershipMsg,
}

impl From<&SnapshotMeta> for SnapshotMetaMsg {
    fn from(meta: &SnapshotMeta) -> Self {
        Self {
            last_log_id: meta.last_log_id.as_ref().map(LogIdMsg::from),
            membership: (&meta.last_membership).into(),
        }
    }
}

impl From<SnapshotMetaMsg> for SnapshotMeta {
    fn from(msg: SnapshotMetaMsg) -> Self {
        SnapshotMeta {
            last_log_id: msg.last_log_id.map(LogId::from),
            last_membership: msg.membership.into(),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeMsg {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) start: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) end: Option<Vec<u8>>,
}

impl From<KeyRange> for RangeMsg {
    fn from(range: KeyRange) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

impl From<RangeMsg> for KeyRange {
    fn from(msg: RangeMsg) -> Self {
        Self {
            start: msg.start,
            end: msg.end,
        }
    }
}

/// What the first chunk of a snapshot says about the whole.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotHeaderMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) vote: VoteMsg,
    #[prost(message, required, tag = "2")]
    pub(crate) meta: SnapshotMetaMsg,
    #[prost(message, repeated, tag = "3")]
    pub(crate) ranges: Vec<RangeMsg>,
    /// The replica that is to have it.
    #[prost(uint64, tag = "4")]
    pub(crate) to: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RowMsg {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

/// One chunk: rows in ascending order of keys, above those of the chunk before.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotChunkMsg {
    /// Place in the stream, from 0.
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
    /// Only in the first chunk.
    #[prost(message, optional, tag = "2")]
    pub(crate) header: Option<SnapshotHeaderMsg>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) rows: Vec<RowMsg>,
    /// Nothing follows.
    #[prost(bool, tag = "4")]
    pub(crate) last: bool,
    /// CRC-32C of all bytes before this field, which is always there and always last.
    #[prost(fixed32, tag = "5")]
    pub(crate) checksum: u32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct SnapshotReplyMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) vote: VoteMsg,
}
