//! The frontier of this process: one object for all its shards.

use std::sync::Arc;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use crate::cluster::{AddressBook, node_number};
use crate::convert::Verifier;
use crate::errors::opening;
use crate::shard::{Shard, ShardContext};
use crate::shards::Shards;

/// What all services of a node share.
pub(crate) struct NodeShared {
    pub(crate) shards: Shards,
    pub(crate) verifier: Verifier,
    pub(crate) identity: pb::Identity,
    pub(crate) book: Arc<AddressBook>,
    pub(crate) context: ShardContext,
}

impl NodeShared {
    /// The shard of a request; or where it is, if the map says that others have it.
    pub(crate) fn shard(&self, shard: u64) -> Result<Arc<Shard>, CallError> {
        if let Some(open) = self.shards.get(shard) {
            return Ok(open);
        }
        let context = &self.context;
        let replicas = context.map.replicas(shard);
        let own = node_number(context.replica);
        if !replicas.is_empty() && !replicas.iter().any(|id| node_number(*id) == own) {
            return Err(context.not_here(shard));
        }
        match context.map.extent(shard) {
            Some(_) => Err(opening(shard)),
            None => Err(self.wrong_shard()),
        }
    }

    /// The answer to whoever asks a shard for what is not its.
    pub(crate) fn wrong_shard(&self) -> CallError {
        CallError::WrongShard {
            map_version: self.map_version(),
        }
    }

    /// Version of the shard map as it is applied here.
    pub(crate) fn map_version(&self) -> u64 {
        self.context.map.version()
    }
}

/// The frontier of this process.
#[derive(Clone)]
pub(crate) struct LocalFrontier {
    pub(super) node: Arc<NodeShared>,
}

impl LocalFrontier {
    pub(crate) const fn new(node: Arc<NodeShared>) -> Self {
        Self { node }
    }

    /// Counts a call and how it ended.
    fn counted<T>(&self, call: &'static str, result: Result<T, CallError>) -> Result<T, CallError> {
        self.node.context.metrics.call(call, result.as_ref().err());
        result
    }
}

#[async_trait::async_trait]
impl Frontier for LocalFrontier {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        self.counted("discover", self.discover_items(request).await)
    }

    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        self.counted("lease", self.lease_call(request).await)
    }

    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        self.counted("report", self.report_items(request).await)
    }

    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        self.counted("release", self.release_items(request).await)
    }

    async fn robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        self.counted("robots_body", self.read_robots_body(request).await)
    }

    async fn set_policy(
        &self,
        request: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        self.counted("set_policy", self.change_policy(request).await)
    }

    async fn remove(&self, request: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        self.counted("remove", self.remove_slice(request).await)
    }

    async fn get_url(&self, request: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        self.counted("get_url", self.read_url(request).await)
    }

    async fn get_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        self.counted("get_host", self.read_host(request).await)
    }

    async fn shard_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        self.counted("shard_status", self.read_status(request).await)
    }

    async fn shard_map(
        &self,
        _request: pb::ShardMapRequest,
    ) -> Result<pb::ShardMapResponse, CallError> {
        self.counted("shard_map", Ok(self.read_map()))
    }

    async fn list_urls(
        &self,
        request: pb::ListUrlsRequest,
    ) -> Result<pb::ListUrlsResponse, CallError> {
        self.counted("list_urls", self.read_urls(request).await)
    }

    async fn lost_store(
        &self,
        request: pb::LostStoreRequest,
    ) -> Result<pb::LostStoreResponse, CallError> {
        self.counted("lost_store", self.lose_store(request).await)
    }

    async fn alias(&self, request: pb::AliasRequest) -> Result<pb::AliasResponse, CallError> {
        self.counted("alias", self.fold_host(request).await)
    }

    async fn list_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        self.counted("list_hosts", self.read_hosts(request).await)
    }

    async fn shard_settings(
        &self,
        request: pb::ShardSettingsRequest,
    ) -> Result<pb::ShardSettingsResponse, CallError> {
        self.counted("shard_settings", self.read_settings(request).await)
    }

    async fn nodes(&self, _request: pb::NodesRequest) -> Result<pb::NodesResponse, CallError> {
        self.counted("nodes", Ok(self.read_nodes()))
    }
}
