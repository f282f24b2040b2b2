//! The transport as openraft sees it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, Either, select};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult,
    TransferLeaderError, TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::{AnyError, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use tokio::sync::mpsc;

use crate::errors::TransportError;
use crate::ids::{GroupId, NodeId};
use crate::raft_types::{LogId, TypeConfig, Vote};
use crate::snapshot::{SnapshotData, encode_chunks};
use crate::transport::{CallKind, Destination, ReplyStream, Transport};
use crate::wire::{
    AppendReplyMsg, AppendRequestMsg, LogIdMsg, SnapshotReplyMsg, TransferReplyMsg,
    TransferRequestMsg, VoteReplyMsg, VoteRequestMsg, WireError, decode, encode,
};

type Snapshot = openraft::alias::SnapshotOf<TypeConfig, SnapshotData>;

/// Longest wait for a receiver to take one snapshot chunk.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the clients of one group.
pub(crate) struct NetworkFactory {
    pub(crate) group_id: GroupId,
    pub(crate) transport: Arc<dyn Transport>,
}

/// Sends one group's messages to one node.
pub(crate) struct NetworkClient {
    to: Destination,
    transport: Arc<dyn Transport>,
    /// For heartbeats only: one call each, so that the transport may let them travel with others.
    is_heartbeat: bool,
}

impl NetworkFactory {
    fn client(&self, node_id: NodeId, is_heartbeat: bool) -> NetworkClient {
        let to = Destination {
            node_id,
            group_id: self.group_id,
        };
        NetworkClient {
            to,
            transport: Arc::clone(&self.transport),
            is_heartbeat,
        }
    }
}

impl RaftNetworkFactory<TypeConfig> for NetworkFactory {
    type Network = NetworkClient;

    async fn new_client(&mut self, target: NodeId, _node: &openraft::EmptyNode) -> NetworkClient {
        self.client(target, false)
    }

    async fn new_heartbeat_client(
        &mut self,
        target: NodeId,
        _node: &openraft::EmptyNode,
    ) -> NetworkClient {
        self.client(target, true)
    }
}

fn unreachable(error: &TransportError) -> Unreachable<TypeConfig> {
    Unreachable::new(&AnyError::new(error))
}

fn rpc_error(error: &TransportError) -> RPCError<TypeConfig> {
    RPCError::Unreachable(unreachable(error))
}

fn malformed(error: &WireError) -> TransportError {
    TransportError::Malformed(error.to_string())
}

impl NetworkClient {
    async fn call(
        &self,
        kind: CallKind,
        request: Bytes,
        option: &RPCOption,
    ) -> Result<Bytes, RPCError<TypeConfig>> {
        let reply = self
            .transport
            .call(self.to, kind, request, option.soft_ttl())
            .await;
        reply.map_err(|error| rpc_error(&error))
    }

    async fn ask_vote(
        &self,
        kind: CallKind,
        request: VoteRequest<TypeConfig>,
        option: &RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        let message = VoteRequestMsg {
            vote: (&request.vote).into(),
            last_log_id: request.last_log_id.as_ref().map(LogIdMsg::from),
            leadership_transfer: request.leadership_transfer,
        };
        let reply = self.call(kind, encode(&message), option).await?;
        let reply: VoteReplyMsg =
            decode("vote reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
        let last_log_id = reply.last_log_id.map(LogId::from);
        Ok(VoteResponse {
            vote: reply.vote.into(),
            vote_granted: reply.granted,
            last_log_id,
        })
    }
}

/// First and last log id of a request, to read its reply by.
type Span = (Option<LogId>, Option<LogId>);

fn span(request: &AppendEntriesRequest<TypeConfig>) -> Span {
    let last = request.entries.last().map(|entry| entry.log_id);
    (request.prev_log_id, last.or(request.prev_log_id))
}

type AppendResult = Result<StreamAppendResult<TypeConfig>, RPCError<TypeConfig>>;

fn read_reply(reply: Result<Bytes, TransportError>, (previous, last): Span) -> AppendResult {
    let reply = reply.map_err(|error| rpc_error(&error))?;
    let reply: AppendReplyMsg =
        decode("append reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
    let response = AppendEntriesResponse::<TypeConfig>::from(reply);
    if response.is_conflict() && previous.is_none() {
        // Nothing precedes the first entry, so nothing can conflict with it.
        let error = TransportError::Malformed("conflict before the first entry".to_owned());
        return Err(rpc_error(&error));
    }
    Ok(response.into_stream_result(previous, last))
}

/// Matches replies with the spans of their requests; ends with the first that is an error.
fn read_replies(
    replies: ReplyStream,
    spans: mpsc::UnboundedReceiver<Span>,
) -> BoxStream<'static, AppendResult> {
    let state = Some((replies, spans));
    futures::stream::unfold(state, |state| async move {
        let (mut replies, mut spans) = state?;
        let reply = replies.next().await?;
        let span = spans.recv().await?;
        let result = read_reply(reply, span);
        let go_on = matches!(result, Ok(Ok(_)));
        Some((result, go_on.then_some((replies, spans))))
    })
    .boxed()
}

impl RaftNetworkV2<TypeConfig> for NetworkClient {
    type SnapshotData = SnapshotData;

    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<TypeConfig>, RPCError<TypeConfig>> {
        let reply = self
            .call(
                CallKind::Heartbeat,
                encode(&AppendRequestMsg::from(&request)),
                &option,
            )
            .await?;
        let reply: AppendReplyMsg =
            decode("append reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
        Ok(reply.into())
    }

    fn stream_append<'s, S>(
        &'s mut self,
        input: S,
        option: RPCOption,
    ) -> BoxFuture<'s, Result<BoxStream<'s, AppendResult>, RPCError<TypeConfig>>>
    where
        S: Stream<Item = AppendEntriesRequest<TypeConfig>> + OptionalSend + Unpin + 'static,
    {
        if self.is_heartbeat {
            return openraft::network::stream_append_sequential(self, input, option);
        }
        let (sender, spans) = mpsc::unbounded_channel();
        let requests = input.map(move |request| {
            let _ended = sender.send(span(&request));
            encode(&AppendRequestMsg::from(&request))
        });
        let replies = self
            .transport
            .append_stream(self.to, requests.boxed(), option.soft_ttl());
        Box::pin(async move {
            let replies = replies.await.map_err(|error| rpc_error(&error))?;
            Ok(read_replies(replies, spans))
        })
    }

    async fn vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        self.ask_vote(CallKind::Vote, request, &option).await
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        self.ask_vote(CallKind::PreVote, request, &option).await
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<TypeConfig>, StreamingError<TypeConfig>> {
        let refused = |error: TransportError| StreamingError::Unreachable(unreachable(&error));
        let chunks = encode_chunks(&vote, &snapshot.meta, snapshot.snapshot).map_err(refused)?;
        let sending = self.transport.snapshot(self.to, chunks, CHUNK_TIMEOUT);
        let reply = match select(sending, pin!(cancel)).await {
            Either::Left((reply, _)) => reply.map_err(refused)?,
            Either::Right((closed, _)) => return Err(StreamingError::Closed(closed)),
        };
        let reply: SnapshotReplyMsg =
            decode("snapshot reply", &reply).map_err(|error| refused(malformed(&error)))?;
        Ok(SnapshotResponse::new(reply.vote.into()))
    }

    async fn transfer_leader(
        &mut self,
        request: TransferLeaderRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<TypeConfig>, RPCError<TypeConfig>> {
        let expected = *request.from_leader();
        let message = TransferRequestMsg {
            from_leader: (&expected).into(),
            to_node_id: *request.to_node_id(),
            last_log_id: request.last_log_id().map(LogIdMsg::from),
        };
        let reply = self
            .call(CallKind::TransferLeader, encode(&message), &option)
            .await?;
        let reply: TransferReplyMsg =
            decode("transfer reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
        Ok(match reply {
            TransferReplyMsg {
                vote_changed_to: Some(actual),
                ..
            } => Err(TransferLeaderError::VoteChanged {
                expected,
                actual: actual.into(),
            }),
            TransferReplyMsg {
                log_not_flushed: true,
                flushed,
                ..
            } => Err(TransferLeaderError::LogNotFlushed {
                expected: request.last_log_id().copied(),
                actual: flushed.map(LogId::from),
            }),
            _ => Ok(()),
        })
    }
}
