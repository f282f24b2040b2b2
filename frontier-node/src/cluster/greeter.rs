//! Calls of other nodes: short, with a deadline, each connection kept.

use std::collections::HashMap;
use std::time::Duration;

use client::limits::MESSAGE_SIZE_BYTES;
use parking_lot::Mutex;
use pb::nodes_client::NodesClient;
use proto::raft_v1 as pb;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::limits::{
    CHANGE_MAP_TIMEOUT_MS, FETCH_MAP_TIMEOUT_MS, HAND_OVER_CALL_TIMEOUT_MS, HELLO_TIMEOUT_MS,
    SHAPE_TIMEOUT_MS, STANDING_TIMEOUT_MS,
};

/// Clients of the `Nodes` service, by address.
#[derive(Default)]
pub struct Greeter {
    clients: Mutex<HashMap<String, NodesClient<Channel>>>,
}

impl Greeter {
    fn client(&self, address: &str) -> Result<NodesClient<Channel>, Status> {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(address) {
            return Ok(client.clone());
        }
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|error| Status::invalid_argument(format!("{address}: {error}")))?
            .connect_timeout(Duration::from_millis(HELLO_TIMEOUT_MS))
            .tcp_nodelay(true);
        // A whole shard map comes in one message.
        let client =
            NodesClient::new(endpoint.connect_lazy()).max_decoding_message_size(MESSAGE_SIZE_BYTES);
        clients.insert(address.to_owned(), client.clone());
        Ok(client)
    }

    /// Says hello.
    ///
    /// # Errors
    ///
    /// Not reached in time, or refused: then with the reason.
    pub async fn hello(
        &self,
        address: &str,
        caller: pb::Introduction,
    ) -> Result<pb::HelloResponse, Status> {
        let mut client = self.client(address)?;
        let request = pb::HelloRequest {
            caller: Some(caller),
        };
        let call = client.hello(timed(request, HELLO_TIMEOUT_MS));
        in_time(address, HELLO_TIMEOUT_MS, call).await
    }

    /// Applies a command to the shard map, at the node that leads group 0.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn change_map(
        &self,
        address: &str,
        request: pb::ChangeMapRequest,
    ) -> Result<pb::MapVerdict, Status> {
        let mut client = self.client(address)?;
        let call = client.change_map(timed(request, CHANGE_MAP_TIMEOUT_MS));
        in_time(address, CHANGE_MAP_TIMEOUT_MS, call).await
    }

    /// Fetches a node's copy of the shard map.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn fetch_map(
        &self,
        address: &str,
        request: pb::FetchMapRequest,
    ) -> Result<pb::FetchMapResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.fetch_map(timed(request, FETCH_MAP_TIMEOUT_MS));
        in_time(address, FETCH_MAP_TIMEOUT_MS, call).await
    }

    /// Asks how a node's replica of a group stands.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn shard_standing(
        &self,
        address: &str,
        request: pb::ShardStandingRequest,
    ) -> Result<pb::ShardStandingResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.shard_standing(timed(request, STANDING_TIMEOUT_MS));
        in_time(address, STANDING_TIMEOUT_MS, call).await
    }

    /// Asks a shard's leader to apply a split.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn split_shard(
        &self,
        address: &str,
        request: pb::SplitShardRequest,
    ) -> Result<pb::SplitShardResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.split_shard(timed(request, SHAPE_TIMEOUT_MS));
        in_time(address, SHAPE_TIMEOUT_MS, call).await
    }

    /// Asks a shard's leader where the middle of its load is.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn split_point(
        &self,
        address: &str,
        request: pb::SplitPointRequest,
    ) -> Result<pb::SplitPointResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.split_point(timed(request, SHAPE_TIMEOUT_MS));
        in_time(address, SHAPE_TIMEOUT_MS, call).await
    }

    /// Asks a group's leader to hand over.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn hand_over(
        &self,
        address: &str,
        request: pb::HandOverRequest,
    ) -> Result<pb::HandOverResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.hand_over(timed(request, HAND_OVER_CALL_TIMEOUT_MS));
        in_time(address, HAND_OVER_CALL_TIMEOUT_MS, call).await
    }

    /// Asks a group's leader for a step of a change of its members.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn change_members(
        &self,
        address: &str,
        request: pb::ChangeMembersRequest,
    ) -> Result<pb::ChangeMembersResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.change_members(timed(request, SHAPE_TIMEOUT_MS));
        in_time(address, SHAPE_TIMEOUT_MS, call).await
    }

    /// Asks how all replicas of a node stand.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn report(
        &self,
        address: &str,
        request: pb::ReportRequest,
    ) -> Result<pb::ReportResponse, Status> {
        let mut client = self.client(address)?;
        let call = client.report(timed(request, STANDING_TIMEOUT_MS));
        in_time(address, STANDING_TIMEOUT_MS, call).await
    }
}

fn timed<T>(message: T, timeout_ms: u64) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_millis(timeout_ms));
    request
}

async fn in_time<T>(
    address: &str,
    timeout_ms: u64,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout(Duration::from_millis(timeout_ms), call).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded(format!(
            "no answer from {address} in {timeout_ms} ms"
        ))),
    }
}
