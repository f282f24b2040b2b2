//! A frontier in another process, over gRPC.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::health::Health;
use crate::limits::{
    CALL_TIMEOUT_MS, CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS, MESSAGE_SIZE_BYTES,
};
use crate::request_id::{self, REQUEST_ID_KEY, RequestIds};
use crate::traffic::Traffic;
use crate::{CallError, Frontier};
use pb::frontier_client::FrontierClient;
use prost::Message;
use proto::{ERROR_DETAIL_TRAILER, frontier_v1 as pb};
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

/// Why a frontier's address was not taken.
#[derive(Debug, thiserror::Error)]
#[error("{address} is not an address: {reason}")]
pub struct AddressError {
    /// What was given.
    pub address: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A frontier in another process. One connection, opened at the first call and again after it broke; calls share it.
///
/// A process that is stopped or unplugged keeps its connections: an open one is asked for a sign of life, so that all
/// calls on it end soon, those that wait for work too.
#[derive(Clone, Debug)]
pub struct GrpcFrontier {
    client: FrontierClient<Channel>,
    address: String,
    timeout_ms: u64,
    ids: Arc<RequestIds>,
    traffic: Arc<Traffic>,
    health: Arc<Health>,
}

impl GrpcFrontier {
    /// A frontier at `host:port`, or at a whole `http://` URI. Does not connect yet.
    ///
    /// # Errors
    ///
    /// The address is malformed.
    pub fn new(address: &str) -> Result<Self, AddressError> {
        let uri = if address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let endpoint = Endpoint::from_shared(uri)
            .map_err(|error| AddressError {
                address: address.to_owned(),
                reason: error.to_string(),
            })?
            .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
            .http2_keep_alive_interval(Duration::from_millis(KEEP_ALIVE_MS))
            .keep_alive_timeout(Duration::from_millis(KEEP_ALIVE_TIMEOUT_MS))
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .tcp_nodelay(true);
        let client = FrontierClient::new(endpoint.connect_lazy())
            .max_decoding_message_size(MESSAGE_SIZE_BYTES)
            .max_encoding_message_size(MESSAGE_SIZE_BYTES);
        Ok(Self {
            client,
            address: address.to_owned(),
            timeout_ms: CALL_TIMEOUT_MS,
            ids: Arc::new(RequestIds::new("")),
            traffic: Arc::default(),
            health: Arc::default(),
        })
    }

    /// Counts into these.
    pub(crate) fn watched(mut self, traffic: Arc<Traffic>, health: Arc<Health>) -> Self {
        self.traffic = traffic;
        self.health = health;
        self
    }

    /// With another time limit of a call, its asked wait apart, ms.
    #[must_use]
    pub const fn with_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }

    /// The address it was made with.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes a request with a deadline that both sides know, and waits no longer than that.
    async fn call<T, R, F, Fut>(
        &self,
        method: &'static str,
        message: T,
        wait_ms: u64,
        send: F,
    ) -> Result<R, CallError>
    where
        T: Message,
        R: Message,
        F: FnOnce(FrontierClient<Channel>, Request<T>) -> Fut,
        Fut: Future<Output = Result<Response<R>, Status>>,
    {
        let limit = Duration::from_millis(self.timeout_ms.saturating_add(wait_ms));
        self.traffic.sent(method, message.encoded_len());
        let mut request = Request::new(message);
        request.set_timeout(limit);
        let id = request_id::current().unwrap_or_else(|| self.ids.next());
        if let Ok(id) = MetadataValue::try_from(&*id) {
            request.metadata_mut().insert(REQUEST_ID_KEY, id);
        }
        match tokio::time::timeout(limit, send(self.client.clone(), request)).await {
            Ok(Ok(response)) => {
                let answer = response.into_inner();
                self.traffic.received(method, answer.encoded_len());
                self.health.answered();
                Ok(answer)
            }
            Ok(Err(status)) if is_from_the_transport(&status) => {
                self.health.failed();
                Err(self.unavailable(&root_cause(&status)))
            }
            Ok(Err(status)) => {
                self.health.answered();
                Err(status.into())
            }
            Err(_) => {
                self.health.failed();
                Err(self.unavailable(&format!("no answer in {} ms", limit.as_millis())))
            }
        }
    }

    fn unavailable(&self, why: &str) -> CallError {
        CallError::Unavailable {
            reason: format!("{}: {why}", self.address),
            retry_after_ms: 0,
        }
    }
}

/// A status that no frontier made: the connection could not be opened, or broke.
fn is_from_the_transport(status: &Status) -> bool {
    let is_typed = status.metadata().contains_key(ERROR_DETAIL_TRAILER);
    !is_typed
        && matches!(
            status.code(),
            Code::Unavailable
                | Code::Unknown
                | Code::Internal
                | Code::Cancelled
                | Code::DeadlineExceeded
        )
}

/// What the operating system says rather than "transport error".
fn root_cause(status: &Status) -> String {
    let Some(mut cause) = status.source() else {
        return format!("{}: {}", status.code().description(), status.message());
    };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[async_trait::async_trait]
impl Frontier for GrpcFrontier {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        self.call("discover", request, 0, |mut c, r| async move {
            c.discover(r).await
        })
        .await
    }

    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        let wait_ms = request.wait_ms;
        self.call("lease", request, wait_ms, |mut c, r| async move {
            c.lease(r).await
        })
        .await
    }

    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        self.call(
            "report",
            request,
            0,
            |mut c, r| async move { c.report(r).await },
        )
        .await
    }

    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        self.call("release", request, 0, |mut c, r| async move {
            c.release(r).await
        })
        .await
    }

    async fn robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        self.call("robots_body", request, 0, |mut c, r| async move {
            c.robots_body(r).await
        })
        .await
    }

    async fn set_policy(
        &self,
        request: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        self.call("set_policy", request, 0, |mut c, r| async move {
            c.set_policy(r).await
        })
        .await
    }

    async fn remove(&self, request: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        self.call(
            "remove",
            request,
            0,
            |mut c, r| async move { c.remove(r).await },
        )
        .await
    }

    async fn get_url(&self, request: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        self.call("get_url", request, 0, |mut c, r| async move {
            c.get_url(r).await
        })
        .await
    }

    async fn get_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        self.call("get_host", request, 0, |mut c, r| async move {
            c.get_host(r).await
        })
        .await
    }

    async fn shard_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        self.call("shard_status", request, 0, |mut c, r| async move {
            c.shard_status(r).await
        })
        .await
    }

    async fn shard_map(
        &self,
        request: pb::ShardMapRequest,
    ) -> Result<pb::ShardMapResponse, CallError> {
        self.call("shard_map", request, 0, |mut c, r| async move {
            c.shard_map(r).await
        })
        .await
    }

    async fn list_urls(
        &self,
        request: pb::ListUrlsRequest,
    ) -> Result<pb::ListUrlsResponse, CallError> {
        self.call("list_urls", request, 0, |mut c, r| async move {
            c.list_urls(r).await
        })
        .await
    }

    async fn lost_store(
        &self,
        request: pb::LostStoreRequest,
    ) -> Result<pb::LostStoreResponse, CallError> {
        self.call("lost_store", request, 0, |mut c, r| async move {
            c.lost_store(r).await
        })
        .await
    }

    async fn list_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        self.call("list_hosts", request, 0, |mut c, r| async move {
            c.list_hosts(r).await
        })
        .await
    }

    async fn shard_settings(
        &self,
        request: pb::ShardSettingsRequest,
    ) -> Result<pb::ShardSettingsResponse, CallError> {
        self.call("shard_settings", request, 0, |mut c, r| async move {
            c.shard_settings(r).await
        })
        .await
    }

    async fn nodes(&self, request: pb::NodesRequest) -> Result<pb::NodesResponse, CallError> {
        self.call(
            "nodes",
            request,
            0,
            |mut c, r| async move { c.nodes(r).await },
        )
        .await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_address_is_unavailable_and_a_bad_one_is_named() {
        assert!(
            GrpcFrontier::new("http://a b")
                .unwrap_err()
                .to_string()
                .contains("a b")
        );
        // Bound and closed again: nobody listens there.
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let frontier = GrpcFrontier::new(&address.to_string()).unwrap();
        let error = frontier
            .shard_map(pb::ShardMapRequest {})
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::Unavailable { .. }), "{error}");
        assert!(error.is_retryable());
        assert!(
            error.to_string().contains(&address.to_string())
                && error.to_string().contains("refused"),
            "{error}"
        );
        assert!(frontier.health.is_down());
        assert_eq!(frontier.traffic.methods()["shard_map"].failed, 1);
    }

    #[tokio::test]
    async fn a_silent_peer_costs_no_more_than_the_deadline() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let frontier = GrpcFrontier::new(&address).unwrap().with_timeout_ms(50);
        let error = frontier
            .shard_map(pb::ShardMapRequest {})
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::Unavailable { .. }), "{error}");
    }
}
