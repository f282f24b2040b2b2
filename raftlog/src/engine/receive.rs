//! What arrives from other replicas.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, TransferLeaderError, TransferLeaderRequest,
    VoteRequest, VoteResponse,
};

use super::Engine;
use crate::errors::TransportError;
use crate::group::Running;
use crate::ids::GroupId;
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
    /// was not taken whole.
    pub fn receive_append_stream(
        &self,
        group_id: GroupId,
        requests: BoxStream<'static, Bytes>,
    ) -> Result<ReplyStream, TransportError> {
        let running = self.running(group_id)?;
        let requests = requests.map(|bytes| decode::<AppendRequestMsg>("append request", &bytes));
        let requests = requests.take_while(move |request| {
            if let Err(error) = request {
                tracing::warn!(group_id, %error, "append stream ended");
            }
            std::future::ready(request.is_ok())
        });
        let requests = requests
            .filter_map(|request| std::future::ready(request.ok().map(AppendEntriesRequest::from)));
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

async fn vote(running: &Running, kind: CallKind, request: &[u8]) -> Result<Bytes, TransportError> {
    let request: VoteRequestMsg = decode("vote request", request).map_err(malformed)?;
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
