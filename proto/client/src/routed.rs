//! A frontier that is a whole cluster: each call goes to its shard's leader.

use std::sync::Arc;

use crate::call::Kind;
use crate::{CallError, Frontier, Router};
use proto::frontier_v1 as pb;

/// A [`Frontier`] over a [`Router`]: sends each call to the leader of the shard that it names.
#[derive(Clone)]
pub struct RoutedFrontier(Arc<Router>);

impl RoutedFrontier {
    /// Over a router.
    pub const fn new(router: Arc<Router>) -> Self {
        Self(router)
    }
}

/// One routed call: the request is cloned for each try.
macro_rules! routed {
    ($self:ident, $request:ident, $method:ident) => {
        routed!($self, $request, $method, Kind::LED)
    };
    ($self:ident, $request:ident, $method:ident, $kind:expr) => {
        $self
            .0
            .call($request.shard, $kind, |frontier| {
                let request = $request.clone();
                Box::pin(async move { frontier.$method(request).await })
            })
            .await
    };
}

/// The same about one partition hash: where the shard says that it has it no more, its owner by a newer map is asked.
macro_rules! routed_by_owner {
    ($self:ident, $request:ident, $method:ident, $kind:expr) => {{
        let (shard, partition) = ($request.shard, $request.partition);
        $self
            .0
            .call_owner(shard, partition, $kind, |frontier, shard| {
                let mut request = $request.clone();
                request.shard = shard;
                Box::pin(async move { frontier.$method(request).await })
            })
            .await
    }};
}

const fn by_leader_unless(local: bool) -> Kind {
    if local { Kind::LOCAL } else { Kind::LED }
}

#[async_trait::async_trait]
impl Frontier for RoutedFrontier {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        routed!(self, request, discover)
    }

    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        let kind = Kind {
            wait_ms: request.wait_ms,
            ..Kind::LED
        };
        let response: Result<pb::LeaseResponse, _> = routed!(self, request, lease, kind);
        if let Ok(response) = &response {
            self.0.heard_of(response.map_version);
        }
        response
    }

    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        routed!(self, request, report)
    }

    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        routed!(self, request, release)
    }

    async fn robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        routed_by_owner!(self, request, robots_body, Kind::LOCAL)
    }

    async fn set_policy(
        &self,
        request: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        routed!(self, request, set_policy)
    }

    async fn remove(&self, request: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        routed!(self, request, remove)
    }

    async fn get_url(&self, request: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        let kind = by_leader_unless(request.local);
        routed_by_owner!(self, request, get_url, kind)
    }

    async fn get_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        let kind = by_leader_unless(request.local);
        routed_by_owner!(self, request, get_host, kind)
    }

    async fn shard_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        routed!(self, request, shard_status, Kind::LOCAL)
    }

    async fn shard_map(
        &self,
        _request: pb::ShardMapRequest,
    ) -> Result<pb::ShardMapResponse, CallError> {
        Ok(pb::ShardMapResponse {
            version: self.0.map_version(),
            shards: self.0.shards(),
            identity: Some(self.0.identity()),
            node_addresses: self.0.addresses(),
        })
    }

    async fn list_urls(
        &self,
        request: pb::ListUrlsRequest,
    ) -> Result<pb::ListUrlsResponse, CallError> {
        routed!(self, request, list_urls, Kind::LOCAL)
    }

    async fn lost_store(
        &self,
        request: pb::LostStoreRequest,
    ) -> Result<pb::LostStoreResponse, CallError> {
        routed!(self, request, lost_store)
    }

    async fn alias(&self, request: pb::AliasRequest) -> Result<pb::AliasResponse, CallError> {
        routed!(self, request, alias)
    }

    async fn list_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        routed!(self, request, list_hosts, Kind::LOCAL)
    }

    async fn shard_settings(
        &self,
        request: pb::ShardSettingsRequest,
    ) -> Result<pb::ShardSettingsResponse, CallError> {
        routed!(self, request, shard_settings)
    }

    async fn nodes(&self, _request: pb::NodesRequest) -> Result<pb::NodesResponse, CallError> {
        self.0.nodes().await
    }
}
