//! Requests and replies between replicas.

use prost::Message;

use super::{EntryMsg, LogIdMsg, VoteMsg};
use crate::ids::NodeId;
use crate::raft_types::{Entry, LogId, TypeConfig};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AppendRequestMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) vote: VoteMsg,
    #[prost(message, optional, tag = "2")]
    pub(crate) previous: Option<LogIdMsg>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) entries: Vec<EntryMsg>,
    #[prost(message, optional, tag = "4")]
    pub(crate) committed: Option<LogIdMsg>,
    /// The replica that is to have it.
    #[prost(uint64, tag = "5")]
    pub(crate) to: u64,
}

impl AppendRequestMsg {
    /// The message of a request to a replica.
    pub(crate) fn new(
        to: NodeId,
        request: &openraft::raft::AppendEntriesRequest<TypeConfig>,
    ) -> Self {
        Self {
            to,
            vote: (&request.vote).into(),
            previous: request.prev_log_id.as_ref().map(LogIdMsg::from),
            entries: request.entries.iter().map(EntryMsg::from).collect(),
            committed: request.leader_commit.as_ref().map(LogIdMsg::from),
        }
    }
}

impl From<AppendRequestMsg> for openraft::raft::AppendEntriesRequest<TypeConfig> {
    fn from(msg: AppendRequestMsg) -> Self {
        Self {
            vote: msg.vote.into(),
            prev_log_id: msg.previous.map(LogId::from),
            entries: msg.entries.into_iter().map(Entry::from).collect(),
            leader_commit: msg.committed.map(LogId::from),
        }
    }
}

/// Answer to an append: at most one field is set. None: everything was taken.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AppendReplyMsg {
    /// Taken up to here only, where `partial` is true.
    #[prost(message, optional, tag = "1")]
    pub(crate) taken: Option<LogIdMsg>,
    #[prost(bool, tag = "2")]
    pub(crate) partial: bool,
    /// The entry before the first is another one here, or missing.
    #[prost(bool, tag = "3")]
    pub(crate) conflict: bool,
    /// A newer leader or candidate is known here.
    #[prost(message, optional, tag = "4")]
    pub(crate) higher_vote: Option<VoteMsg>,
}

impl From<openraft::raft::AppendEntriesResponse<TypeConfig>> for AppendReplyMsg {
    fn from(response: openraft::raft::AppendEntriesResponse<TypeConfig>) -> Self {
        use openraft::raft::AppendEntriesResponse as Response;
        match response {
            Response::Success => Self::default(),
            Response::PartialSuccess(taken) => Self {
                partial: true,
                taken: taken.as_ref().map(LogIdMsg::from),
                ..Self::default()
            },
            Response::Conflict => Self {
                conflict: true,
                ..Self::default()
            },
            Response::HigherVote(vote) => Self {
                higher_vote: Some((&vote).into()),
                ..Self::default()
            },
        }
    }
}

impl From<AppendReplyMsg> for openraft::raft::AppendEntriesResponse<TypeConfig> {
    fn from(msg: AppendReplyMsg) -> Self {
        match msg {
            AppendReplyMsg {
                higher_vote: Some(vote),
                ..
            } => Self::HigherVote(vote.into()),
            AppendReplyMsg { conflict: true, .. } => Self::Conflict,
            AppendReplyMsg {
                partial: true,
                taken,
                ..
            } => Self::PartialSuccess(taken.map(LogId::from)),
            _ => Self::Success,
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct VoteRequestMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) vote: VoteMsg,
    #[prost(message, optional, tag = "2")]
    pub(crate) last_log_id: Option<LogIdMsg>,
    #[prost(bool, tag = "3")]
    pub(crate) leadership_transfer: bool,
    /// The replica that is asked.
    #[prost(uint64, tag = "4")]
    pub(crate) to: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct VoteReplyMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) vote: VoteMsg,
    #[prost(bool, tag = "2")]
    pub(crate) granted: bool,
    #[prost(message, optional, tag = "3")]
    pub(crate) last_log_id: Option<LogIdMsg>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TransferRequestMsg {
    #[prost(message, required, tag = "1")]
    pub(crate) from_leader: VoteMsg,
    /// Who is to take over. All voters are told.
    #[prost(uint64, tag = "2")]
    pub(crate) to_node_id: u64,
    #[prost(message, optional, tag = "3")]
    pub(crate) last_log_id: Option<LogIdMsg>,
    /// The replica that is told.
    #[prost(uint64, tag = "4")]
    pub(crate) to: u64,
}

/// Answer to a request to take over: at most one field is set. None: accepted.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TransferReplyMsg {
    #[prost(message, optional, tag = "1")]
    pub(crate) vote_changed_to: Option<VoteMsg>,
    #[prost(bool, tag = "2")]
    pub(crate) log_not_flushed: bool,
    #[prost(message, optional, tag = "3")]
    pub(crate) flushed: Option<LogIdMsg>,
}
