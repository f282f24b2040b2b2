//! What other nodes ask: who this one is, and a place for a new incarnation.

use std::sync::{Arc, OnceLock};

use pb::nodes_server::Nodes;
use proto::raft_v1 as pb;
use tonic::{Request, Response, Status};

use super::member::Member;
use crate::node::FrontierNode;

/// The service. Served from the first moment on; the node it speaks for opens later.
#[derive(Clone)]
pub struct NodesService {
    member: Arc<Member>,
    node: Arc<OnceLock<Arc<FrontierNode>>>,
}

impl NodesService {
    /// For a member, and the node once it is open.
    pub const fn new(member: Arc<Member>, node: Arc<OnceLock<Arc<FrontierNode>>>) -> Self {
        Self { member, node }
    }
}

#[tonic::async_trait]
impl Nodes for NodesService {
    async fn hello(
        &self,
        request: Request<pb::HelloRequest>,
    ) -> Result<Response<pb::HelloResponse>, Status> {
        let caller = request
            .into_inner()
            .caller
            .ok_or_else(|| Status::invalid_argument("no introduction"))?;
        let of = |cluster_id: u64| {
            self.member
                .descriptor()
                .map_or(cluster_id, |d| d.cluster_id)
        };
        let is_stranger = caller.cluster_id != 0 && caller.cluster_id != of(caller.cluster_id);
        let is_other = caller.process != self.member.process;
        if caller.node == self.member.node && is_other && !is_stranger {
            let (node, address) = (caller.node, &self.member.address);
            return Err(Status::already_exists(format!(
                "node {node} is already here: another process serves at {address}"
            )));
        }
        if let Some(objection) = self.member.objection(&caller) {
            return Err(Status::failed_precondition(objection));
        }
        if let Some(alive) = self.member.still_alive(&caller) {
            return Err(Status::already_exists(alive));
        }
        let member = Arc::clone(&self.member);
        let (is_empty, node) = (caller.cluster_id == 0, caller.node);
        let learnt = tokio::task::spawn_blocking(move || member.learn(&caller)).await;
        learnt
            .map_err(|error| Status::internal(error.to_string()))?
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let descriptor = self.member.descriptor();
        Ok(Response::new(pb::HelloResponse {
            callee: Some(self.member.introduction()),
            your_incarnation: self.member.recorded(node),
            founding: descriptor.filter(|_| is_empty).map(|d| d.to_founding()),
        }))
    }

    async fn replace(
        &self,
        request: Request<pb::ReplaceRequest>,
    ) -> Result<Response<pb::ReplaceResponse>, Status> {
        let request = request.into_inner();
        let cluster_id = self.member.descriptor().map(|d| d.cluster_id);
        if cluster_id != Some(request.cluster_id) {
            return Err(Status::failed_precondition("another cluster"));
        }
        let node = self
            .node
            .get()
            .ok_or_else(|| Status::unavailable("this node is still starting"))?;
        let waits_for = node
            .replace(request.shard, request.replica)
            .await
            .map_err(|reason| Status::unavailable(reason.to_string()))?;
        Ok(Response::new(pb::ReplaceResponse {
            done: waits_for.is_none(),
            waits_for: waits_for.unwrap_or_default(),
        }))
    }
}
