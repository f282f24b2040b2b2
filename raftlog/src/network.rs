//! The transport as openraft sees it.

mod replies;

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
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderError,
    TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::{AnyError, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use replies::{AppendResult, Limits, Span, read_replies};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::errors::TransportError;
use crate::group::{LongerLog, Transfers};
use crate::ids::{GroupId, NodeId};
use crate::raft_types::{LogId, TypeConfig, Vote, index_of};
use crate::snapshot::{SnapshotData, encode_chunks};
use crate::transport::{CallKind, Destination, Transport};
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
    pub(crate) transfers: Arc<Transfers>,
    /// Told of refused votes.
    pub(crate) longer_log: Arc<LongerLog>,
    /// Snapshots that the node may send at the same moment.
    pub(crate) sends: Arc<Semaphore>,
    /// Index up to which the log is to be purged.
    pub(crate) purge_due: watch::Receiver<u64>,
    /// Longest wait for the reply to an append.
    pub(crate) append_patience: Duration,
}

/// Sends one group's messages to one replica, and says in each which one it means.
pub(crate) struct NetworkClient {
    to: Destination,
    transport: Arc<dyn Transport>,
    transfers: Arc<Transfers>,
    longer_log: Arc<LongerLog>,
    sends: Arc<Semaphore>,
    purge_due: watch::Receiver<u64>,
    append_patience: Duration,
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
            transfers: Arc::clone(&self.transfers),
            longer_log: Arc::clone(&self.longer_log),
            sends: Arc::clone(&self.sends),
            purge_due: self.purge_due.clone(),
            append_patience: self.append_patience,
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

    /// Sends a snapshot when its turn comes.
    async fn send(&self, vote: Vote, snapshot: Snapshot) -> Result<Bytes, TransportError> {
        let _turn = self.sends.acquire().await;
        let chunks = encode_chunks(self.to.node_id, &vote, &snapshot.meta, snapshot.snapshot)?;
        self.transport
            .snapshot(self.to, chunks, CHUNK_TIMEOUT)
            .await
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
            to: self.to.node_id,
        };
        let reply = self.call(kind, encode(&message), option).await?;
        let reply: VoteReplyMsg =
            decode("vote reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
        let last_log_id = reply.last_log_id.map(LogId::from);
        if !reply.granted {
            self.longer_log.refused_by(last_log_id);
        }
        Ok(VoteResponse {
            vote: reply.vote.into(),
            vote_granted: reply.granted,
            last_log_id,
        })
    }
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
                encode(&AppendRequestMsg::new(self.to.node_id, &request)),
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
        let (to, transport) = (self.to, Arc::clone(&self.transport));
        let patience = self.append_patience;
        let limits = Limits {
            patience,
            purge_due: self.purge_due.clone(),
        };
        Box::pin(async move {
            // openraft sleeps its back-off where a request is made, so a stream that is refused before its first
            // request was taken would be tried again at once, for ever.
            let mut input = input;
            let Some(first) = input.next().await else {
                return Ok(futures::stream::empty().boxed());
            };
            let (sender, spans) = mpsc::unbounded_channel();
            let all = futures::stream::once(std::future::ready(first)).chain(input);
            let requests = all.map(move |request| {
                let _ended = sender.send(Span::of(&request));
                encode(&AppendRequestMsg::new(to.node_id, &request))
            });
            let replies = transport
                .append_stream(to, requests.boxed(), patience)
                .await
                .map_err(|error| rpc_error(&error))?;
            Ok(read_replies(replies, spans, limits))
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
        let snapshot_index = index_of(&snapshot.meta.last_log_id);
        let underway = self.transfers.begin(self.to.node_id, snapshot_index);
        let reply = match select(pin!(self.send(vote, snapshot)), pin!(cancel)).await {
            Either::Left((reply, _)) => reply.map_err(refused)?,
            Either::Right((closed, _)) => return Err(StreamingError::Closed(closed)),
        };
        underway.arrived();
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
            to: self.to.node_id,
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
