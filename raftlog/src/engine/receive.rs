//! What arrives from other replicas.

use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, TransferLeaderError, TransferLeaderRequest,
    VoteRequest, VoteResponse,
};
use parking_lot::Mutex;

use super::Engine;
use crate::errors::TransportError;
use crate::fault::Rule;
use crate::group::{Instance, Running};
use crate::ids::{GroupId, NodeId, process_of};
use crate::raft_types::{LogId, TypeConfig, Vote};
use crate::snapshot;
use crate::transport::{CallKind, ReplyStream};
use crate::wire::{
    AppendReplyMsg, AppendRequestMsg, LogIdMsg, TransferReplyMsg, TransferRequestMsg, VoteReplyMsg,
    VoteRequestMsg, WireError, decode, encode,
};

fn malformed(error: WireError) -> TransportError {
    TransportError::Malformed(error.to_string())
}

fn remote(error: impl std::fmt::Display) -> TransportError {
    TransportError::Remote(error.to_string())
}

impl Engine {
    fn running(&self, group_id: GroupId) -> Result<Running, TransportError> {
        let slot = self
            .shared
            .slot(group_id)
            .ok_or(TransportError::NoGroup(group_id))?;
        slot.running().map_err(remote)
    }

    /// Serves one request that another node sent with [`Transport::call`](crate::Transport::call).
    pub async fn receive_call(
        &self,
        group_id: GroupId,
        kind: CallKind,
        request: &[u8],
    ) -> Result<Bytes, TransportError> {
        let running = self.running(group_id)?;
        match kind {
            CallKind::Vote | CallKind::PreVote => vote(&running, kind, request).await,
            CallKind::TransferLeader => transfer(&running, request).await,
            CallKind::Heartbeat => {
                let request: AppendRequestMsg =
                    decode("append request", request).map_err(malformed)?;
                check_target(&running, request.to)?;
                let response = running
                    .raft
                    .append_entries(request.into())
                    .await
                    .map_err(remote)?;
                Ok(encode(&AppendReplyMsg::from(response)))
            }
        }
    }

    /// Serves a stream of appends. Replies come in the order of the requests; the stream ends after the first that
    /// was not taken whole, and with an error at the first that is malformed or meant for another replica.
    pub fn receive_append_stream(
        &self,
        group_id: GroupId,
        requests: BoxStream<'static, Bytes>,
    ) -> Result<ReplyStream, TransportError> {
        let running = self.running(group_id)?;
        let refusal: Arc<Mutex<Option<TransportError>>> = Arc::default();
        let (told, there) = (Arc::clone(&refusal), running.clone());
        let requests = requests.map(move |bytes| {
            let request: AppendRequestMsg = decode("append request", &bytes).map_err(malformed)?;
            check_target(&there, request.to)?;
            Ok(AppendEntriesRequest::from(request))
        });
        let requests = requests.scan((), move |(), request| {
            let request = request.map_err(|error| *told.lock() = Some(error));
            std::future::ready(request.ok())
        });
        let replies = running.raft.stream_append(requests.boxed());
        Ok(replies
            .map(|reply| {
                let reply = match reply.map_err(remote)? {
                    Ok(taken) => {
                        let taken = taken.as_ref().map(LogIdMsg::from);
                        AppendReplyMsg {
                            partial: true,
                            taken,
                            ..AppendReplyMsg::default()
                        }
                    }
                    refused @ Err(_) => AppendReplyMsg::from(AppendEntriesResponse::from(refused)),
                };
                Ok(encode(&reply))
            })
            .chain(futures::stream::poll_fn(move |_| {
                Poll::Ready(refusal.lock().take().map(Err))
            }))
            .boxed())
    }

    /// Takes a snapshot in chunks, checks all of it, and installs it. What is not whole changes nothing.
    pub async fn receive_snapshot(
        &self,
        group_id: GroupId,
        chunks: BoxStream<'static, Bytes>,
    ) -> Result<Bytes, TransportError> {
        let running = self.running(group_id)?;
        snapshot::receive(&self.shared, &running, chunks).await
    }
}

/// Refuses what is meant for another replica, as an earlier one of this process: its log and its vote are gone, and an answer
/// would be counted as its own. Versions of before name nobody, and know no replica but the process's first.
pub(crate) fn check_target(running: &Running, to: NodeId) -> Result<(), TransportError> {
    let Instance {
        group_id,
        replica,
        shared,
        ..
    } = &*running.instance;
    let is_meant = to == *replica || (to == 0 && *replica == process_of(*replica));
    if is_meant || shared.is_off(Rule::AnswersForItself) {
        return Ok(());
    }
    Err(TransportError::NoReplica {
        group_id: *group_id,
        replica: to,
    })
}

async fn vote(running: &Running, kind: CallKind, request: &[u8]) -> Result<Bytes, TransportError> {
    let request: VoteRequestMsg = decode("vote request", request).map_err(malformed)?;
    check_target(running, request.to)?;
    let request = VoteRequest::<TypeConfig> {
        vote: request.vote.into(),
        last_log_id: request.last_log_id.map(LogId::from),
        leadership_transfer: request.leadership_transfer,
    };
    let response: VoteResponse<TypeConfig> = if kind == CallKind::PreVote {
        running.raft.pre_vote(request).await.map_err(remote)?
    } else {
        running.raft.vote(request).await.map_err(remote)?
    };
    Ok(encode(&VoteReplyMsg {
        vote: (&response.vote).into(),
        granted: response.vote_granted,
        last_log_id: response.last_log_id.as_ref().map(LogIdMsg::from),
    }))
}

async fn transfer(running: &Running, request: &[u8]) -> Result<Bytes, TransportError> {
    let request: TransferRequestMsg = decode("transfer request", request).map_err(malformed)?;
    check_target(running, request.to)?;
    let from: Vote = request.from_leader.into();
    let request = TransferLeaderRequest::new(
        from,
        request.to_node_id,
        request.last_log_id.map(LogId::from),
    );
    let reply = match running
        .raft
        .handle_transfer_leader(request)
        .await
        .map_err(remote)?
    {
        Ok(()) => TransferReplyMsg::default(),
        Err(TransferLeaderError::VoteChanged { actual, .. }) => TransferReplyMsg {
            vote_changed_to: Some((&actual).into()),
            ..TransferReplyMsg::default()
        },
        Err(TransferLeaderError::LogNotFlushed { actual, .. }) => {
            let flushed = actual.as_ref().map(LogIdMsg::from);
            TransferReplyMsg {
                log_not_flushed: true,
                flushed,
                ..TransferReplyMsg::default()
            }
        }
    };
    Ok(encode(&reply))
}
