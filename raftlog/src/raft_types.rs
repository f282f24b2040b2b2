//! The type configuration of openraft for this crate, and short names of its generic types.

use std::fmt;

use bytes::Bytes;
use openraft::impls::{InlineBatch, OneshotResponder, leader_id_std};
use openraft::vote::RaftLeaderId;
use openraft::{EmptyNode, EntryPayload, OptionalSend, RaftTypeConfig};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a user proposed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Payload(pub(crate) Bytes);

/// What the machine replied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReplyBytes(pub(crate) Bytes);

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// openraft's bounds ask for serde; what is stored and sent is encoded in [`wire`](crate::wire) instead.
macro_rules! serde_as_bytes {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Vec::<u8>::deserialize(deserializer).map(|bytes| Self(bytes.into()))
            }
        }
    };
}

serde_as_bytes!(Payload);
serde_as_bytes!(ReplyBytes);

/// Types of every group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeConfig;

impl RaftTypeConfig for TypeConfig {
    type D = Payload;
    type R = ReplyBytes;
    type NodeId = u64;
    type Node = EmptyNode;
    type Term = u64;
    type LeaderId = leader_id_std::LeaderId<u64, u64>;
    type Vote = openraft::impls::Vote<Self::LeaderId>;
    type Payload = EntryPayload<Payload, u64, EmptyNode>;
    type Entry = openraft::Entry<<Self::LeaderId as RaftLeaderId>::Committed, Self::Payload>;
    type AsyncRuntime = crate::runtime::LogRuntime;
    type Responder<T>
        = OneshotResponder<Self, T>
    where
        T: OptionalSend + 'static;
    type Batch<T>
        = InlineBatch<T>
    where
        T: OptionalSend + 'static;
    type ErrorSource = openraft::impls::BoxedErrorSource;
}

pub(crate) type LogId = openraft::alias::LogIdOf<TypeConfig>;
pub(crate) type Vote = openraft::alias::VoteOf<TypeConfig>;
pub(crate) type Entry = openraft::alias::EntryOf<TypeConfig>;
pub(crate) type Membership = openraft::Membership<u64, openraft::EmptyNode>;
pub(crate) type StoredMembership = openraft::alias::StoredMembershipOf<TypeConfig>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<TypeConfig>;
pub(crate) type LeaderId = openraft::alias::LeaderIdOf<TypeConfig>;
pub(crate) type CommittedLeaderId = openraft::alias::CommittedLeaderIdOf<TypeConfig>;

/// The committed leader id of a term.
pub(crate) fn committed_leader(term: u64) -> CommittedLeaderId {
    LeaderId { term, voted_for: 0 }.to_committed()
}

/// A log id from its parts.
pub(crate) fn log_id(term: u64, index: u64) -> LogId {
    LogId {
        leader_id: committed_leader(term),
        index,
    }
}

/// Index of an optional log id, 0 for none.
pub(crate) fn index_of(log_id: &Option<LogId>) -> u64 {
    log_id.as_ref().map_or(0, |id| id.index)
}
