//! The gRPC server: a thin skin over a [`Frontier`], with health, reflection and limits.

use std::net::SocketAddr;
use std::sync::Arc;

use client::limits::MESSAGE_SIZE_BYTES;
use client::{CallError, Frontier};
use futures::stream::BoxStream;
use pb::frontier_server::{Frontier as Service, FrontierServer};
use proto::frontier_v1 as pb;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use tracing::Instrument;

use crate::errors::overloaded;
use crate::limits::{GRPC_CALLS, GRPC_STREAMS, REQUEST_ID_SIZE_BYTES};
use crate::open_files::grpc_connections;

/// Metadata under which a caller names its request.
const REQUEST_ID: &str = "x-request-id";

/// Why a server did not start or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is beyond loopback and nobody allowed that.
    #[error(
        "{0} is not a loopback address and there is no authentication yet: --allow-non-loopback must be given for it"
    )]
    NotLoopback(SocketAddr),
    /// The listener's address is not known.
    #[error("listener: {0}")]
    Listener(#[from] std::io::Error),
    /// Reflection could not be built from the descriptor.
    #[error("reflection: {0}")]
    Reflection(String),
    /// The transport failed.
    #[error("server: {0}")]
    Transport(String),
}

/// Refuses an address beyond loopback unless it is allowed.
pub(crate) fn check_address(
    address: SocketAddr,
    allow_non_loopback: bool,
) -> Result<(), ServeError> {
    if address.ip().is_loopback() || allow_non_loopback {
        Ok(())
    } else {
        Err(ServeError::NotLoopback(address))
    }
}

/// Serves a frontier alone until `stop`; then open calls end and the connections close.
pub(crate) async fn serve(
    frontier: Arc<dyn Frontier>,
    listener: TcpListener,
    allow_non_loopback: bool,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    check_address(listener.local_addr()?, allow_non_loopback)?;
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<FrontierServer<Skin>>().await;
    Server::builder()
        .max_concurrent_streams(GRPC_STREAMS)
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .http2_keepalive_interval(Some(std::time::Duration::from_secs(20)))
        .add_service(frontier_service(frontier))
        .add_service(health_service)
        .add_service(reflection_service()?)
        .serve_with_incoming_shutdown(connections(listener), stop.cancelled_owned())
        .await
        .map_err(|error| ServeError::Transport(error.to_string()))
}

/// A listener's connections, as many as the limit of open files allows.
pub(crate) fn connections(
    listener: TcpListener,
) -> BoxStream<'static, std::io::Result<raft_net::Connection>> {
    raft_net::incoming_within(listener, grpc_connections())
}

/// `frontier.v1` over a frontier.
pub(crate) fn frontier_service(frontier: Arc<dyn Frontier>) -> FrontierServer<Skin> {
    let skin = Skin {
        frontier,
        calls: Arc::new(Semaphore::new(GRPC_CALLS)),
    };
    FrontierServer::new(skin)
        .max_decoding_message_size(MESSAGE_SIZE_BYTES)
        .max_encoding_message_size(MESSAGE_SIZE_BYTES)
}

/// Reflection over every service of the contract.
pub(crate) fn reflection_service()
-> Result<ServerReflectionServer<impl ServerReflection>, ServeError> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| ServeError::Reflection(error.to_string()))
}

/// The service: counts what is under way, and turns errors into statuses with their details.
pub(crate) struct Skin {
    frontier: Arc<dyn Frontier>,
    calls: Arc<Semaphore>,
}

impl Skin {
    fn enter(&self) -> Result<OwnedSemaphorePermit, Status> {
        Arc::clone(&self.calls).try_acquire_owned().map_err(|_| {
            let error: CallError =
                overloaded("grpc_calls", GRPC_CALLS as u64 + 1, GRPC_CALLS as u64);
            Status::from(error)
        })
    }
}

/// Names a call in the log by the id that its caller gave it, so that one page's way can be followed over processes.
fn call_span<T>(method: &'static str, request: &Request<T>) -> tracing::Span {
    let id = request.metadata().get(REQUEST_ID).map(|id| id.as_bytes());
    let id = id.map(|id| String::from_utf8_lossy(&id[..id.len().min(REQUEST_ID_SIZE_BYTES)]));
    tracing::debug_span!("call", method, request_id = id.as_deref().unwrap_or(""))
}

/// One call passed on.
macro_rules! pass_on {
    ($self:ident, $request:ident, $method:ident) => {{
        let _call = $self.enter()?;
        let span = call_span(stringify!($method), &$request);
        let result = $self.frontier.$method($request.into_inner());
        let result = result.instrument(span).await;
        result.map(Response::new).map_err(Status::from)
    }};
}

#[tonic::async_trait]
impl Service for Skin {
    async fn discover(
        &self,
        r: Request<pb::DiscoverRequest>,
    ) -> Result<Response<pb::DiscoverResponse>, Status> {
        pass_on!(self, r, discover)
    }
    async fn lease(
        &self,
        r: Request<pb::LeaseRequest>,
    ) -> Result<Response<pb::LeaseResponse>, Status> {
        pass_on!(self, r, lease)
    }
    async fn report(
        &self,
        r: Request<pb::ReportRequest>,
    ) -> Result<Response<pb::ReportResponse>, Status> {
        pass_on!(self, r, report)
    }
    async fn release(
        &self,
        r: Request<pb::ReleaseRequest>,
    ) -> Result<Response<pb::ReleaseResponse>, Status> {
        pass_on!(self, r, release)
    }
    async fn robots_body(
        &self,
        r: Request<pb::RobotsBodyRequest>,
    ) -> Result<Response<pb::RobotsBodyResponse>, Status> {
        pass_on!(self, r, robots_body)
    }
    async fn set_policy(
        &self,
        r: Request<pb::SetPolicyRequest>,
    ) -> Result<Response<pb::SetPolicyResponse>, Status> {
        pass_on!(self, r, set_policy)
    }
    async fn remove(
        &self,
        r: Request<pb::RemoveRequest>,
    ) -> Result<Response<pb::RemoveResponse>, Status> {
        pass_on!(self, r, remove)
    }
    async fn get_url(
        &self,
        r: Request<pb::GetUrlRequest>,
    ) -> Result<Response<pb::GetUrlResponse>, Status> {
        pass_on!(self, r, get_url)
    }
    async fn get_host(
        &self,
        r: Request<pb::GetHostRequest>,
    ) -> Result<Response<pb::GetHostResponse>, Status> {
        pass_on!(self, r, get_host)
    }
    async fn shard_status(
        &self,
        r: Request<pb::ShardStatusRequest>,
    ) -> Result<Response<pb::ShardStatusResponse>, Status> {
        pass_on!(self, r, shard_status)
    }
    async fn shard_map(
        &self,
        r: Request<pb::ShardMapRequest>,
    ) -> Result<Response<pb::ShardMapResponse>, Status> {
        pass_on!(self, r, shard_map)
    }
    async fn list_urls(
        &self,
        r: Request<pb::ListUrlsRequest>,
    ) -> Result<Response<pb::ListUrlsResponse>, Status> {
        pass_on!(self, r, list_urls)
    }
    async fn lost_store(
        &self,
        r: Request<pb::LostStoreRequest>,
    ) -> Result<Response<pb::LostStoreResponse>, Status> {
        pass_on!(self, r, lost_store)
    }
    async fn list_hosts(
        &self,
        r: Request<pb::ListHostsRequest>,
    ) -> Result<Response<pb::ListHostsResponse>, Status> {
        pass_on!(self, r, list_hosts)
    }
    async fn shard_settings(
        &self,
        r: Request<pb::ShardSettingsRequest>,
    ) -> Result<Response<pb::ShardSettingsResponse>, Status> {
        pass_on!(self, r, shard_settings)
    }
    async fn nodes(
        &self,
        r: Request<pb::NodesRequest>,
    ) -> Result<Response<pb::NodesResponse>, Status> {
        pass_on!(self, r, nodes)
    }
}
