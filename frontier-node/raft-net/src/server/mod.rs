//! What arrives from other replicas, handed to the engine.

mod append;
mod inbox;
mod link;
mod opening;
mod settings;
mod snapshot;

use std::sync::{Arc, OnceLock};

use futures::stream::BoxStream;
use proto::raft_v1 as pb;
use proto::raft_v1::raft_server::{Raft, RaftServer};
use raftlog::{CallKind, Engine, NodeId};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::envelope::Identity;
use crate::limits::{MAX_CALL_BYTES, MAX_MESSAGE_BYTES};
use crate::status::to_status;
use crate::wall::WallClock;
pub(crate) use inbox::Inbox;
pub use settings::tuned;

/// The receiving side of a replica.
pub struct RaftService {
    receiving: Receiving,
}

/// What every call of the service needs.
#[derive(Clone)]
pub(crate) struct Receiving {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) identity: Identity,
    pub(crate) wall: Arc<dyn WallClock>,
    /// Ends links and streams.
    pub(crate) stop: CancellationToken,
}

/// A service for replica `me` that runs until its server does. Until there is an engine, peers are told to wait.
///
/// Links of other nodes never end by themselves, so a graceful shutdown of the server waits for ever: use
/// [`service_until`] with one.
pub fn service(
    engine: Arc<OnceLock<Arc<Engine>>>,
    me: NodeId,
    cluster_id: u64,
    wall: Arc<dyn WallClock>,
) -> RaftServer<RaftService> {
    service_until(engine, me, cluster_id, wall, CancellationToken::new())
}

/// A service for replica `me` whose links and streams end at `stop`.
pub fn service_until(
    engine: Arc<OnceLock<Arc<Engine>>>,
    me: NodeId,
    cluster_id: u64,
    wall: Arc<dyn WallClock>,
    stop: CancellationToken,
) -> RaftServer<RaftService> {
    server(Receiving {
        inbox: Arc::new(engine),
        identity: Identity { cluster_id, me },
        wall,
        stop,
    })
}

/// The service over any inbox.
pub(crate) fn server(receiving: Receiving) -> RaftServer<RaftService> {
    RaftServer::new(RaftService { receiving })
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// Refuses what is over the limit of its kind.
fn check_size(what: &str, size_bytes: usize, limit_bytes: usize) -> Result<(), Status> {
    if size_bytes > limit_bytes {
        return Err(Status::invalid_argument(format!(
            "{what} of {size_bytes} bytes, the limit is {limit_bytes}"
        )));
    }
    Ok(())
}

fn stopping() -> Status {
    Status::unavailable("the replica is stopping")
}

#[tonic::async_trait]
impl Raft for RaftService {
    async fn call(
        &self,
        request: Request<pb::CallRequest>,
    ) -> Result<Response<pb::CallReply>, Status> {
        let request = request.into_inner();
        self.receiving.identity.check(request.envelope)?;
        check_size("a call", request.request.len(), MAX_CALL_BYTES)?;
        let kind = match request.kind() {
            pb::CallKind::Vote => CallKind::Vote,
            pb::CallKind::PreVote => CallKind::PreVote,
            pb::CallKind::TransferLeader => CallKind::TransferLeader,
            pb::CallKind::Unspecified => {
                return Err(Status::invalid_argument("a call of no known kind"));
            }
        };
        let answered = self
            .receiving
            .inbox
            .call(request.group, kind, &request.request);
        let reply = tokio::select! {
            reply = answered => reply.map_err(|error| to_status(&error))?,
            () = self.receiving.stop.cancelled() => return Err(stopping()),
        };
        Ok(Response::new(pb::CallReply { reply }))
    }

    type LinkStream = BoxStream<'static, Result<pb::LinkReply, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<pb::LinkRequest>>,
    ) -> Result<Response<Self::LinkStream>, Status> {
        let replies = link::serve(self.receiving.clone(), request.into_inner()).await?;
        Ok(Response::new(replies))
    }

    type AppendStream = BoxStream<'static, Result<pb::AppendReply, Status>>;

    async fn append(
        &self,
        request: Request<Streaming<pb::AppendRequest>>,
    ) -> Result<Response<Self::AppendStream>, Status> {
        let replies = append::serve(&self.receiving, request.into_inner()).await?;
        Ok(Response::new(replies))
    }

    async fn snapshot(
        &self,
        request: Request<Streaming<pb::SnapshotRequest>>,
    ) -> Result<Response<pb::SnapshotReply>, Status> {
        let reply = snapshot::serve(&self.receiving, request.into_inner()).await?;
        Ok(Response::new(reply))
    }
}
