//! The one trait through which everything talks to frontier shards, in this process or over gRPC.

use crate::CallError;
use proto::frontier_v1 as pb;

/// A frontier as its users see it: every call of `frontier.v1`, with the same meaning in process and over the wire.
///
/// Every call may be retried blindly. Deadlines are the implementation's: no call waits for ever.
#[async_trait::async_trait]
pub trait Frontier: Send + Sync + 'static {
    /// Offers items to the shard that owns them.
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError>;
    /// Asks for leases; waits up to the request's `wait_ms`.
    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError>;
    /// Closes leases.
    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError>;
    /// Gives back leases that were not started.
    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError>;
    /// A robots.txt body by digest.
    async fn robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError>;
    /// Creates or changes a policy on one shard.
    async fn set_policy(
        &self,
        request: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError>;
    /// One slice of a removal.
    async fn remove(&self, request: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError>;
    /// One slice of giving up a page store.
    async fn lost_store(
        &self,
        request: pb::LostStoreRequest,
    ) -> Result<pb::LostStoreResponse, CallError> {
        Err(not_served(format!("giving up store {}", request.store)))
    }
    /// What is known of one URL.
    async fn get_url(&self, request: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError>;
    /// What is known of one host.
    async fn get_host(&self, request: pb::GetHostRequest)
    -> Result<pb::GetHostResponse, CallError>;
    /// Counters of one shard.
    async fn shard_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError>;
    /// Shards, ranges, leaders, identity.
    async fn shard_map(
        &self,
        request: pb::ShardMapRequest,
    ) -> Result<pb::ShardMapResponse, CallError>;
    /// A slice of all URLs of one shard.
    async fn list_urls(
        &self,
        request: pb::ListUrlsRequest,
    ) -> Result<pb::ListUrlsResponse, CallError> {
        Err(not_served(format!("listing shard {}", request.shard)))
    }
    /// A slice of the hosts of one shard or site.
    async fn list_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        Err(not_served(format!(
            "listing hosts of shard {}",
            request.shard
        )))
    }
    /// What operators have set for one shard.
    async fn shard_settings(
        &self,
        request: pb::ShardSettingsRequest,
    ) -> Result<pb::ShardSettingsResponse, CallError> {
        Err(not_served(format!(
            "the settings of shard {}",
            request.shard
        )))
    }
    /// The nodes of the cluster.
    async fn nodes(&self, _request: pb::NodesRequest) -> Result<pb::NodesResponse, CallError> {
        Err(not_served("listing nodes".to_owned()))
    }
}

/// Not every frontier is a node: a stand-in need not know these.
fn not_served(what: String) -> CallError {
    CallError::Unavailable {
        reason: format!("{what} is not served here"),
        retry_after_ms: 0,
    }
}
