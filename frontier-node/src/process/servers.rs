//! The gRPC server of a node: everything on one port.

use std::sync::Arc;

use page_store::PageStore;
use proto::frontier_v1::frontier_server::FrontierServer;
use proto::raft_v1::nodes_server::NodesServer;
use proto::raft_v1::raft_server::RaftServer;
use raft_net::RaftService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use crate::admin::admin_service;
use crate::cluster::NodesService;
use crate::grpc::{ServeError, Skin, connections, frontier_service, reflection_service};
use crate::node::FrontierNode;

/// What a node serves.
pub(super) struct Served {
    pub(super) node: Arc<FrontierNode>,
    pub(super) nodes: NodesService,
    pub(super) raft: RaftServer<RaftService>,
    /// The page store and its id.
    pub(super) pages: Option<(Arc<PageStore>, u32)>,
}

/// Serves all of it until `stop`.
pub(super) async fn serve(
    served: Served,
    listener: TcpListener,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<FrontierServer<Skin>>().await;
    let pages = served
        .pages
        .map(|(store, store_id)| page_service::service(store, store_id));
    raft_net::tuned(Server::builder())
        .add_service(frontier_service(served.node.frontier()))
        .add_service(served.raft)
        .add_service(NodesServer::new(served.nodes))
        .add_optional_service(admin_service(&served.node))
        .add_optional_service(pages)
        .add_service(health_service)
        .add_service(reflection_service()?)
        .serve_with_incoming_shutdown(connections(listener), stop.cancelled_owned())
        .await
        .map_err(|error| ServeError::Transport(error.to_string()))
}

/// Serves the handshake only: a node that is not a member yet has nothing else to say.
pub(super) async fn serve_handshake(
    listener: TcpListener,
    nodes: NodesService,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    Server::builder()
        .add_service(NodesServer::new(nodes))
        .serve_with_incoming_shutdown(connections(listener), stop.cancelled_owned())
        .await
        .map_err(|error| ServeError::Transport(error.to_string()))
}
