//! A frontier process of a cluster that dies, pauses and changes leaders as it is told, in this process or over gRPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pb::frontier_server::{Frontier as Service, FrontierServer};
use proto::frontier_v1 as pb;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use super::{all, map, unscripted};
use crate::{CallError, Frontier, Peer, REQUEST_ID_KEY};

/// What a node is to every shard, or to one.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    Leads,
    /// Knows this leader; none if empty.
    Follows(String),
    /// Follows as above for so many calls, then leads.
    Elects(usize, String),
    /// Takes calls and never answers.
    Paused,
    /// Leads, but needs so long.
    Slow(Duration),
    /// Carries calls out and then fails.
    Fails(CallError),
    /// Knows no such shard.
    Lacks(u64),
    /// Knows by this version of the map that others have it.
    Elsewhere(u64, Vec<String>),
    /// Parks calls until it becomes something else.
    Parks,
}

/// See the head of this file.
pub(crate) struct FakeNode {
    role: Mutex<Role>,
    /// Other than `role`, by shard.
    special: Mutex<Vec<(u64, Role)>>,
    pub(crate) map: Mutex<pb::ShardMapResponse>,
    calls: AtomicUsize,
    changed: Notify,
    pub(crate) leases: Mutex<Vec<pb::LeaseRequest>>,
    pub(crate) request_ids: Mutex<Vec<String>>,
}

impl FakeNode {
    pub(crate) fn new(role: Role) -> Arc<Self> {
        Arc::new(Self {
            role: Mutex::new(role),
            special: Mutex::default(),
            map: Mutex::new(map(1, &[(1, 0, 9), (2, 10, u64::MAX)])),
            calls: AtomicUsize::new(0),
            changed: Notify::new(),
            leases: Mutex::default(),
            request_ids: Mutex::default(),
        })
    }

    pub(crate) fn becomes(&self, role: Role) {
        *self.role.lock() = role;
        self.changed.notify_waiters();
    }

    pub(crate) fn becomes_for(&self, shard: u64, role: Role) {
        let mut special = self.special.lock();
        special.retain(|(other, _)| *other != shard);
        special.push((shard, role));
        drop(special);
        self.changed.notify_waiters();
    }

    /// Calls of shards so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn peer(self: &Arc<Self>, address: &str) -> Peer {
        Peer {
            address: address.to_owned(),
            frontier: Arc::clone(self) as Arc<dyn Frontier>,
        }
    }

    fn role_of(&self, shard: u64) -> Role {
        let special = self.special.lock();
        match special.iter().find(|(of, _)| *of == shard) {
            Some((_, role)) => role.clone(),
            None => self.role.lock().clone(),
        }
    }

    /// Returns when this node may answer as the leader.
    async fn lead(&self, shard: u64) -> Result<(), CallError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let follows = |leader_address| Err(CallError::NotLeader { leader_address });
        match self.unparked(shard).await {
            Role::Leads => Ok(()),
            Role::Follows(leader) => follows(leader),
            Role::Elects(0, _) => Ok(()),
            Role::Elects(left, leader) => {
                let next = Role::Elects(left - 1, leader.clone());
                if self.special.lock().iter().any(|(of, _)| *of == shard) {
                    self.becomes_for(shard, next);
                } else {
                    self.becomes(next);
                }
                follows(leader)
            }
            Role::Paused => std::future::pending().await,
            Role::Slow(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Role::Fails(error) => Err(error),
            Role::Lacks(map_version) => Err(CallError::WrongShard { map_version }),
            Role::Elsewhere(map_version, replica_addresses) => Err(CallError::NotHere {
                map_version,
                replica_addresses,
            }),
            Role::Parks => unscripted(),
        }
    }

    /// What it is to a shard once it is nothing that parks.
    async fn unparked(&self, shard: u64) -> Role {
        loop {
            let changed = self.changed.notified();
            match self.role_of(shard) {
                Role::Parks => changed.await,
                role => return role,
            }
        }
    }
}

#[async_trait::async_trait]
impl Frontier for FakeNode {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        self.lead(request.shard).await?;
        Ok(all(&request, pb::discover_result::Code::New))
    }
    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        self.leases.lock().push(request.clone());
        self.lead(request.shard).await?;
        Ok(pb::LeaseResponse {
            map_version: self.map.lock().version,
            ..Default::default()
        })
    }
    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        self.lead(request.shard).await?;
        Ok(pb::ReportResponse::default())
    }
    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        self.lead(request.shard).await?;
        Ok(pb::ReleaseResponse::default())
    }
    async fn robots_body(
        &self,
        _: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        unscripted()
    }
    async fn set_policy(
        &self,
        _: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        unscripted()
    }
    async fn remove(&self, _: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        unscripted()
    }
    async fn get_url(&self, _: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        unscripted()
    }
    async fn get_host(&self, _: pb::GetHostRequest) -> Result<pb::GetHostResponse, CallError> {
        unscripted()
    }
    async fn shard_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        // Any replica answers for itself.
        self.calls.fetch_add(1, Ordering::SeqCst);
        Ok(pb::ShardStatusResponse {
            shard: request.shard,
            leader: matches!(self.role_of(request.shard), Role::Leads),
            ..Default::default()
        })
    }
    async fn shard_map(&self, _: pb::ShardMapRequest) -> Result<pb::ShardMapResponse, CallError> {
        if matches!(&*self.role.lock(), Role::Paused) {
            return std::future::pending().await;
        }
        Ok(self.map.lock().clone())
    }
}

/// A node that serves gRPC on loopback, with threads of its own so that it can die as a process does.
pub(crate) struct Served {
    pub(crate) address: String,
    runtime: Option<Runtime>,
}

impl Served {
    pub(crate) fn start(node: &Arc<FakeNode>) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let skin = FrontierServer::new(Skin(Arc::clone(node)));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            tonic::transport::Server::builder()
                .add_service(skin)
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
        });
        Self {
            address: address.to_string(),
            runtime: Some(runtime),
        }
    }

    /// Ends everything at once; the port is closed when this returns.
    pub(crate) fn die(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            std::thread::spawn(move || drop(runtime)).join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.die();
    }
}

struct Skin(Arc<FakeNode>);

macro_rules! skin {
    ($($method:ident($request:ty) -> $response:ty;)*) => {
        #[tonic::async_trait]
        impl Service for Skin {
            $(async fn $method(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                if let Some(id) = request.metadata().get(REQUEST_ID_KEY) {
                    self.0.request_ids.lock().push(id.to_str().unwrap().to_owned());
                }
                let result = Frontier::$method(&*self.0, request.into_inner()).await;
                result.map(Response::new).map_err(Status::from)
            })*
        }
    };
}

skin! {
    discover(pb::DiscoverRequest) -> pb::DiscoverResponse;
    lease(pb::LeaseRequest) -> pb::LeaseResponse;
    report(pb::ReportRequest) -> pb::ReportResponse;
    release(pb::ReleaseRequest) -> pb::ReleaseResponse;
    robots_body(pb::RobotsBodyRequest) -> pb::RobotsBodyResponse;
    set_policy(pb::SetPolicyRequest) -> pb::SetPolicyResponse;
    remove(pb::RemoveRequest) -> pb::RemoveResponse;
    lost_store(pb::LostStoreRequest) -> pb::LostStoreResponse;
    get_url(pb::GetUrlRequest) -> pb::GetUrlResponse;
    get_host(pb::GetHostRequest) -> pb::GetHostResponse;
    shard_status(pb::ShardStatusRequest) -> pb::ShardStatusResponse;
    shard_map(pb::ShardMapRequest) -> pb::ShardMapResponse;
    list_urls(pb::ListUrlsRequest) -> pb::ListUrlsResponse;
    list_hosts(pb::ListHostsRequest) -> pb::ListHostsResponse;
    shard_settings(pb::ShardSettingsRequest) -> pb::ShardSettingsResponse;
    nodes(pb::NodesRequest) -> pb::NodesResponse;
    alias(pb::AliasRequest) -> pb::AliasResponse;
}
