//! What other nodes ask: who this one is, changes of the map and of shards, and how shards stand.

use std::sync::{Arc, OnceLock};

use pb::nodes_server::Nodes;
use proto::raft_v1 as pb;
use raftlog::ControlError;
use shard_map::Command;
use tonic::{Request, Response, Status};

use super::member::Member;
use crate::map::{MapError, MapNode, MemberChange, MemberError, MemberOrder, elsewhere, to_wire};
use crate::node::FrontierNode;
use crate::shards::{SplitAim, SplitError, SplitRequest};

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

    /// The node, once it is open, for a caller of its cluster.
    fn open_for(&self, cluster_id: u64) -> Result<&Arc<FrontierNode>, Status> {
        let own = self.member.descriptor().map(|d| d.cluster_id);
        if own != Some(cluster_id) {
            return Err(Status::failed_precondition("another cluster"));
        }
        let node = self.node.get();
        node.ok_or_else(|| Status::unavailable("this node is still starting"))
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
        if caller.cluster_id != 0 {
            self.member.copy.hear(caller.map_version, &caller.address);
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

    async fn change_map(
        &self,
        request: Request<pb::ChangeMapRequest>,
    ) -> Result<Response<pb::MapVerdict>, Status> {
        let request = request.into_inner();
        let map = map_of(self.open_for(request.cluster_id)?)?;
        let command = Command::from_bytes(&request.command)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let Some(zero) = map.zero() else {
            return Ok(Response::new(elsewhere(String::new())));
        };
        let verdict = match zero.propose_here(&command).await {
            Ok(accepted) => Ok(accepted),
            Err(MapError::Refused(reason)) => Err(reason),
            Err(MapError::NotLeader(_)) => {
                return Ok(Response::new(elsewhere(map.leader_address())));
            }
            Err(error @ MapError::TooLarge(_)) => {
                return Err(Status::invalid_argument(error.to_string()));
            }
            Err(error @ MapError::Unavailable(_)) => {
                return Err(Status::unavailable(error.to_string()));
            }
        };
        Ok(Response::new(to_wire(verdict)))
    }

    async fn fetch_map(
        &self,
        request: Request<pb::FetchMapRequest>,
    ) -> Result<Response<pb::FetchMapResponse>, Status> {
        let request = request.into_inner();
        let map = map_of(self.open_for(request.cluster_id)?)?;
        let view = map.view();
        if !view.map.is_founded() {
            return Err(Status::unavailable("there is no shard map here yet"));
        }
        let is_newer = view.map.version > request.known_version;
        let map = is_newer.then(|| view.map.to_bytes().into());
        Ok(Response::new(pb::FetchMapResponse {
            map: map.unwrap_or_default(),
            applied_index: view.applied_index,
        }))
    }

    async fn shard_standing(
        &self,
        request: Request<pb::ShardStandingRequest>,
    ) -> Result<Response<pb::ShardStandingResponse>, Status> {
        let request = request.into_inner();
        let node = self.open_for(request.cluster_id)?;
        let standing = node.standing(request.group).unwrap_or_default();
        Ok(Response::new(standing))
    }

    async fn split_shard(
        &self,
        request: Request<pb::SplitShardRequest>,
    ) -> Result<Response<pb::SplitShardResponse>, Status> {
        let request = request.into_inner();
        let node = self.open_for(request.cluster_id)?;
        let split = node.split_shard(SplitRequest {
            shard: request.shard,
            epoch: request.epoch,
            at: request.at,
            child: request.child,
            voters: request.voters.into_iter().collect(),
        });
        let refused = match split.await {
            Ok(_) => String::new(),
            Err(error) if error.is_final() => error.to_string(),
            Err(error) => return Err(not_split(&error)),
        };
        Ok(Response::new(pb::SplitShardResponse { refused }))
    }

    async fn split_point(
        &self,
        request: Request<pb::SplitPointRequest>,
    ) -> Result<Response<pb::SplitPointResponse>, Status> {
        let request = request.into_inner();
        let node = self.open_for(request.cluster_id)?;
        let places = node.split_points(request.shard, SplitAim::Middle).await;
        let places = places.map_err(|error| not_split(&error))?;
        let size_bytes = node.shard_size_bytes(request.shard).await;
        Ok(Response::new(pb::SplitPointResponse {
            at: places.points.first().copied(),
            size_bytes: size_bytes.map_err(|error| not_split(&error))?,
        }))
    }

    async fn hand_over(
        &self,
        request: Request<pb::HandOverRequest>,
    ) -> Result<Response<pb::HandOverResponse>, Status> {
        let request = request.into_inner();
        let node = self.open_for(request.cluster_id)?;
        let mut groups = node.groups().into_iter();
        let group = groups.find(|group| group.group_id() == request.group);
        let group = group.ok_or_else(|| Status::failed_precondition("no such group here"))?;
        let refused = match group.transfer_leader(request.to).await {
            Ok(()) => String::new(),
            Err(error @ ControlError::BadTarget(_)) => error.to_string(),
            Err(error @ ControlError::NotLeader) => {
                return Err(Status::failed_precondition(error.to_string()));
            }
            Err(error) => return Err(Status::unavailable(error.to_string())),
        };
        Ok(Response::new(pb::HandOverResponse { refused }))
    }

    async fn change_members(
        &self,
        request: Request<pb::ChangeMembersRequest>,
    ) -> Result<Response<pb::ChangeMembersResponse>, Status> {
        let request = request.into_inner();
        let node = self.open_for(request.cluster_id)?;
        let answer = match node.change_members(&order(&request)?).await {
            Ok(()) => pb::ChangeMembersResponse {
                done: true,
                ..pb::ChangeMembersResponse::default()
            },
            Err(MemberError::Refused(refused)) => pb::ChangeMembersResponse {
                refused,
                ..pb::ChangeMembersResponse::default()
            },
            Err(MemberError::NotYet(waits_for)) => pb::ChangeMembersResponse {
                waits_for,
                ..pb::ChangeMembersResponse::default()
            },
            Err(error @ (MemberError::UnknownGroup(_) | MemberError::NotLeader(_))) => {
                return Err(Status::failed_precondition(error.to_string()));
            }
        };
        Ok(Response::new(answer))
    }

    async fn report(
        &self,
        request: Request<pb::ReportRequest>,
    ) -> Result<Response<pb::ReportResponse>, Status> {
        let node = self.open_for(request.into_inner().cluster_id)?;
        Ok(Response::new(pb::ReportResponse {
            groups: node.report(),
        }))
    }
}

fn order(request: &pb::ChangeMembersRequest) -> Result<MemberOrder, Status> {
    let old = (request.old != 0).then_some(request.old);
    let change = match request.what() {
        pb::MemberChange::Add => MemberChange::Add,
        pb::MemberChange::CatchUp => MemberChange::CatchUp,
        pb::MemberChange::Vote => MemberChange::Vote { old },
        pb::MemberChange::Remove => MemberChange::Remove,
        pb::MemberChange::Unspecified => {
            return Err(Status::invalid_argument("a change that is not known here"));
        }
    };
    Ok(MemberOrder {
        group: request.group,
        replica: request.replica,
        change,
    })
}

/// A split that was neither done nor refused for good.
fn not_split(error: &SplitError) -> Status {
    match error {
        SplitError::UnknownShard(_) | SplitError::NotLeader { .. } => {
            Status::failed_precondition(error.to_string())
        }
        _ => Status::unavailable(error.to_string()),
    }
}

fn map_of(node: &FrontierNode) -> Result<&Arc<MapNode>, Status> {
    let map = node.map();
    map.ok_or_else(|| Status::failed_precondition("this node has no shard map"))
}
