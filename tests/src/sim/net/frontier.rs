//! Calls of `frontier.v1` over the simulated network.

use std::sync::Arc;
use std::time::Duration;

use client::{CallError, Frontier};
use futures::future::BoxFuture;
use prost::Message;
use proto::frontier_v1 as pb;

use super::{Net, RpcError};

/// Longest wait of a client for an answer, what it asks to be waited for left out.
const CALL_TIMEOUT: Duration = Duration::from_secs(12);

/// A node's frontier, seen from another process.
#[derive(Clone)]
pub(in super::super) struct RemoteFrontier {
    pub(in super::super) net: Arc<Net>,
    pub(in super::super) from: u64,
    pub(in super::super) to: u64,
    /// The network may bring a request twice.
    pub(in super::super) may_repeat: bool,
}

impl RemoteFrontier {
    async fn call<Q, A>(
        &self,
        request: Q,
        timeout: Duration,
        send: impl Fn(Arc<dyn Frontier>, Q) -> BoxFuture<'static, Result<A, CallError>>
        + Send
        + Sync
        + Copy
        + 'static,
    ) -> Result<A, CallError>
    where
        Q: Clone + Message + 'static,
        A: Message + 'static,
    {
        self.net.count_call(self.from, request.encoded_len());
        let serve =
            move |node: Arc<frontier_node::FrontierNode>| send(node.frontier(), request.clone());
        match self
            .net
            .call((self.from, self.to), self.may_repeat, timeout, serve)
            .await
        {
            Ok(answer) => {
                let size_bytes = answer.as_ref().map_or(0, Message::encoded_len);
                self.net.count_answer(self.from, size_bytes);
                answer
            }
            Err(error) => Err(CallError::Unavailable {
                reason: match error {
                    RpcError::Refused => "refused".to_owned(),
                    RpcError::TimedOut => "no answer in time".to_owned(),
                },
                retry_after_ms: 0,
            }),
        }
    }
}

/// One call of the trait: passed on as it is.
macro_rules! calls {
    ($($name:ident($request:ident) -> $response:ident;)*) => {
        #[async_trait::async_trait]
        impl Frontier for RemoteFrontier {
            async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
                let timeout = CALL_TIMEOUT + Duration::from_millis(request.wait_ms);
                self.call(request, timeout, |there, request| {
                    Box::pin(async move { there.lease(request).await })
                })
                .await
            }

            $(
                async fn $name(&self, request: pb::$request) -> Result<pb::$response, CallError> {
                    self.call(request, CALL_TIMEOUT, |there, request| {
                        Box::pin(async move { there.$name(request).await })
                    })
                    .await
                }
            )*
        }
    };
}

calls! {
    discover(DiscoverRequest) -> DiscoverResponse;
    report(ReportRequest) -> ReportResponse;
    release(ReleaseRequest) -> ReleaseResponse;
    robots_body(RobotsBodyRequest) -> RobotsBodyResponse;
    set_policy(SetPolicyRequest) -> SetPolicyResponse;
    remove(RemoveRequest) -> RemoveResponse;
    get_url(GetUrlRequest) -> GetUrlResponse;
    get_host(GetHostRequest) -> GetHostResponse;
    shard_status(ShardStatusRequest) -> ShardStatusResponse;
    shard_map(ShardMapRequest) -> ShardMapResponse;
    list_urls(ListUrlsRequest) -> ListUrlsResponse;
    nodes(NodesRequest) -> NodesResponse;
}
