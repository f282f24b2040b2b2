//! Everything stored or sent, as protobuf messages, and their conversion from and to openraft's types.
//!
//! Tags are pinned: a field is added under a new tag, never reused.

mod calls;
mod snapshots;

pub(crate) use calls::{
    AppendReplyMsg, AppendRequestMsg, TransferReplyMsg, TransferRequestMsg, VoteReplyMsg,
    VoteRequestMsg,
};
pub(crate) use snapshots::{
    RangeMsg, RowMsg, SnapshotChunkMsg, SnapshotHeaderMsg, SnapshotReplyMsg,
};

use bytes::Bytes;
use openraft::EntryPayload;
use prost::Message;

use crate::raft_types::{
    Entry, LeaderId, LogId, Membership, Payload, StoredMembership, Vote, log_id,
};

/// Bytes that are not a message of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed {what}: {reason}")]
pub(crate) struct WireError {
    what: &'static str,
    reason: String,
}

impl WireError {
    pub(crate) fn new(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self {
            what,
            reason: reason.to_string(),
        }
    }
}

/// Decodes a message.
pub(crate) fn decode<M: Message + Default>(
    what: &'static str,
    bytes: &[u8],
) -> Result<M, WireError> {
    M::decode(bytes).map_err(|error| WireError::new(what, error))
}

/// Encodes a message.
pub(crate) fn encode<M: Message>(message: &M) -> Bytes {
    message.encode_to_vec().into()
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct LogIdMsg {
    #[prost(uint64, tag = "1")]
    pub(crate) term: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) index: u64,
}

impl From<&LogId> for LogIdMsg {
    fn from(id: &LogId) -> Self {
        Self {
            term: id.leader_id.term,
            index: id.index,
        }
    }
}

impl From<LogIdMsg> for LogId {
    fn from(msg: LogIdMsg) -> Self {
        log_id(msg.term, msg.index)
    }
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct VoteMsg {
    #[prost(uint64, tag = "1")]
    pub(crate) term: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) node_id: u64,
    #[prost(bool, tag = "3")]
    pub(crate) committed: bool,
}

impl From<&Vote> for VoteMsg {
    fn from(vote: &Vote) -> Self {
        Self {
            term: vote.leader_id.term,
            node_id: vote.leader_id.voted_for,
            committed: vote.committed,
        }
    }
}

impl From<VoteMsg> for Vote {
    fn from(msg: VoteMsg) -> Self {
        Vote {
            leader_id: LeaderId {
                term: msg.term,
                voted_for: msg.node_id,
            },
            committed: msg.committed,
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeSetMsg {
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MembershipMsg {
    /// One set, or two while the membership is joint.
    #[prost(message, repeated, tag = "1")]
    pub(crate) voters: Vec<NodeSetMsg>,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) learners: Vec<u64>,
}

impl From<&Membership> for MembershipMsg {
    fn from(membership: &Membership) -> Self {
        let voters = membership.get_joint_config().iter();
        Self {
            voters: voters
                .map(|ids| NodeSetMsg {
                    ids: ids.iter().copied().collect(),
                })
                .collect(),
            learners: membership.learner_ids().collect(),
        }
    }
}

impl From<MembershipMsg> for Membership {
    fn from(msg: MembershipMsg) -> Self {
        let voters = msg
            .voters
            .into_iter()
            .map(|set| set.ids.into_iter().collect())
            .collect();
        Membership::new_with_defaults(voters, msg.learners)
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredMembershipMsg {
    #[prost(message, optional, tag = "1")]
    pub(crate) log_id: Option<LogIdMsg>,
    #[prost(message, optional, tag = "2")]
    pub(crate) membership: Option<MembershipMsg>,
}

impl From<&StoredMembership> for StoredMembershipMsg {
    fn from(stored: &StoredMembership) -> Self {
        Self {
            log_id: stored.log_id().as_ref().map(LogIdMsg::from),
            membership: Some(stored.membership().into()),
        }
    }
}

impl From<StoredMembershipMsg> for StoredMembership {
    fn from(msg: StoredMembershipMsg) -> Self {
        let membership = msg.membership.map(Membership::from).unwrap_or_default();
        StoredMembership::new(msg.log_id.map(LogId::from), membership)
    }
}

/// An entry: a payload, a membership, or neither (a new leader's first entry).
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EntryMsg {
    #[prost(uint64, tag = "1")]
    pub(crate) term: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) index: u64,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) payload: Option<Bytes>,
    #[prost(message, optional, tag = "4")]
    pub(crate) membership: Option<MembershipMsg>,
    /// Bytes of all entries that this log ever took, this one included. Only stored, never sent.
    #[prost(uint64, tag = "5")]
    pub(crate) end_offset_bytes: u64,
}

impl EntryMsg {
    /// The message of an entry whose end in the log is known.
    pub(crate) fn stored(entry: &Entry, end_offset_bytes: u64) -> Self {
        Self {
            end_offset_bytes,
            ..Self::from(entry)
        }
    }
}

impl From<&Entry> for EntryMsg {
    fn from(entry: &Entry) -> Self {
        let (payload, membership) = match &entry.payload {
            EntryPayload::Blank => (None, None),
            EntryPayload::Normal(payload) => (Some(payload.0.clone()), None),
            EntryPayload::Membership(membership) => (None, Some(membership.into())),
        };
        Self {
            term: entry.log_id.leader_id.term,
            index: entry.log_id.index,
            payload,
            membership,
            end_offset_bytes: 0,
        }
    }
}

impl From<EntryMsg> for Entry {
    fn from(msg: EntryMsg) -> Self {
        let payload = match (msg.payload, msg.membership) {
            (Some(payload), _) => EntryPayload::Normal(Payload(payload)),
            (None, Some(membership)) => EntryPayload::Membership(membership.into()),
            (None, None) => EntryPayload::Blank,
        };
        Entry {
            log_id: log_id(msg.term, msg.index),
            payload,
        }
    }
}

/// What a node knows about a group that it was told to take part in.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DescriptorMsg {
    /// The first members, where this node is one of them.
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) members: Vec<u64>,
    /// This node joined a group that others founded.
    #[prost(bool, tag = "2")]
    pub(crate) joined: bool,
    /// The id of the replica here. 0 in directories of before: the node's id.
    #[prost(uint64, tag = "3")]
    pub(crate) replica: u64,
    /// The replica was removed for good, and what is left is its tombstone.
    #[prost(bool, tag = "4")]
    pub(crate) removed: bool,
    /// The rows that its removal deletes, while that is not finished.
    #[prost(message, repeated, tag = "5")]
    pub(crate) ranges: Vec<RangeMsg>,
    /// Rows or log of the removed replica may be here still.
    #[prost(bool, tag = "6")]
    pub(crate) unfinished: bool,
}

/// The ranges that a group owned when that was last looked at: all that it owns now, and maybe more.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangesMsg {
    #[prost(message, repeated, tag = "1")]
    pub(crate) ranges: Vec<RangeMsg>,
}

/// What an engine's directory says about itself.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct IdentityMsg {
    #[prost(uint64, tag = "1")]
    pub(crate) node_id: u64,
    #[prost(uint32, tag = "2")]
    pub(crate) layout_version: u32,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn round_trip(entry: &Entry) -> Entry {
        let bytes = encode(&EntryMsg::stored(entry, 77));
        let msg: EntryMsg = decode("entry", &bytes).unwrap();
        assert_eq!(msg.end_offset_bytes, 77);
        msg.into()
    }

    #[test]
    fn entries_of_each_kind_round_trip() {
        let joint = vec![BTreeSet::from([1, 2, 3]), BTreeSet::from([3, 4])];
        let membership = Membership::new_with_defaults(joint, [9]);
        for payload in [
            EntryPayload::Blank,
            EntryPayload::Normal(Payload(Bytes::from_static(b"abc"))),
            EntryPayload::Normal(Payload(Bytes::new())),
            EntryPayload::Membership(membership),
        ] {
            let entry = Entry {
                log_id: log_id(3, 0),
                payload,
            };
            assert_eq!(round_trip(&entry), entry);
        }
    }

    #[test]
    fn votes_and_garbage() {
        let vote = Vote {
            leader_id: LeaderId {
                term: 4,
                voted_for: 2,
            },
            committed: true,
        };
        assert_eq!(Vote::from(VoteMsg::from(&vote)), vote);
        assert!(
            decode::<VoteMsg>("vote", &[0xff; 9])
                .unwrap_err()
                .to_string()
                .contains("malformed vote")
        );
    }
}
