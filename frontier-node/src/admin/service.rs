//! The calls of `admin.v1`.

use std::sync::Arc;

use client::limits::MESSAGE_SIZE_BYTES;
use pb::admin_server::{Admin, AdminServer};
use pb::change_response::End;
use proto::admin_v1 as pb;
use shard_map::{Accepted, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Request, Response, Status};

use super::changes::{self, Cut};
use super::{answers, backups, reading::Reading};
use crate::limits::{ADMIN_CALLS, ADMIN_REQUEST_SIZE_BYTES, EXPORTS};
use crate::map::{MapError, MapNode, MapView, ShapeError, Weight};
use crate::node::FrontierNode;

/// The service of a node that has group 0; `None`: it does not.
pub(crate) fn admin_service(node: &Arc<FrontierNode>) -> Option<AdminServer<AdminService>> {
    let service = AdminService {
        map: Arc::clone(node.map()?),
        node: Arc::clone(node),
        calls: Arc::new(Semaphore::new(ADMIN_CALLS)),
        exports: Arc::new(Semaphore::new(EXPORTS)),
    };
    Some(
        AdminServer::new(service)
            .max_decoding_message_size(ADMIN_REQUEST_SIZE_BYTES)
            .max_encoding_message_size(MESSAGE_SIZE_BYTES),
    )
}

/// The service.
pub(crate) struct AdminService {
    node: Arc<FrontierNode>,
    map: Arc<MapNode>,
    calls: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl AdminService {
    fn enter(&self) -> Result<OwnedSemaphorePermit, Status> {
        let calls = Arc::clone(&self.calls).try_acquire_owned();
        calls.map_err(|_| {
            Status::resource_exhausted(format!("more than {ADMIN_CALLS} calls are under way"))
        })
    }

    async fn read(&self, local: bool) -> Reading {
        Reading::take(&self.node, &self.map, local).await
    }

    /// What a change is planned by. A copy that lags must not refuse what the cluster would take.
    async fn newest(&self) -> Result<MapView, Status> {
        let view = self.map.newest().await;
        view.map_err(|error| Status::unavailable(error.to_string()))
    }

    async fn change(&self, command: &Command) -> Result<Response<pb::ChangeResponse>, Status> {
        match self.map.change(command).await {
            Ok(done) => Ok(accepted(done)),
            Err(MapError::Refused(reason)) => Ok(refused(reason)),
            Err(error @ MapError::TooLarge(_)) => Err(Status::invalid_argument(error.to_string())),
            Err(error) => Err(Status::unavailable(error.to_string())),
        }
    }
}

fn accepted(done: Accepted) -> Response<pb::ChangeResponse> {
    let accepted = pb::Accepted {
        version: done.version,
        changed: done.changed,
        job: done.job.unwrap_or(0),
    };
    Response::new(pb::ChangeResponse {
        end: Some(End::Accepted(accepted)),
    })
}

fn refused(reason: String) -> Response<pb::ChangeResponse> {
    Response::new(pb::ChangeResponse {
        end: Some(End::Refused(reason)),
    })
}

#[tonic::async_trait]
impl Admin for AdminService {
    async fn status(
        &self,
        request: Request<pb::StatusRequest>,
    ) -> Result<Response<pb::StatusResponse>, Status> {
        let _call = self.enter()?;
        let reading = self.read(request.into_inner().local).await;
        Ok(Response::new(answers::status(&self.map, reading)))
    }

    async fn nodes(
        &self,
        request: Request<pb::NodesRequest>,
    ) -> Result<Response<pb::NodesResponse>, Status> {
        let _call = self.enter()?;
        let reading = self.read(request.into_inner().local).await;
        Ok(Response::new(answers::nodes(&self.map, reading)))
    }

    async fn shards(
        &self,
        request: Request<pb::ShardsRequest>,
    ) -> Result<Response<pb::ShardsResponse>, Status> {
        let _call = self.enter()?;
        let reading = self.read(request.into_inner().local).await;
        Ok(Response::new(answers::shards(reading)))
    }

    async fn jobs(
        &self,
        request: Request<pb::JobsRequest>,
    ) -> Result<Response<pb::JobsResponse>, Status> {
        let _call = self.enter()?;
        let request = request.into_inner();
        let reading = self.read(request.local).await;
        Ok(Response::new(answers::jobs(reading, request.job)))
    }

    async fn map(
        &self,
        request: Request<pb::MapRequest>,
    ) -> Result<Response<pb::MapResponse>, Status> {
        let _call = self.enter()?;
        let reading = self.read(request.into_inner().local).await;
        Ok(Response::new(answers::raw(reading)))
    }

    async fn split(
        &self,
        request: Request<pb::SplitRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let request = request.into_inner();
        let verifier = &self.node.shared_node().verifier;
        let cut = changes::cut(&request, verifier)?;
        let view = self.newest().await?;
        let (at, alone) = match cut {
            Cut::At(at) => (at, false),
            Cut::Alone(site) => (site, true),
            Cut::Middle if view.map.shard(request.shard).is_none() => {
                let unknown = shard_map::Refusal::UnknownShard(request.shard);
                return Ok(refused(unknown.to_string()));
            }
            // A repeat finds its job, wherever the middle of what is left may be.
            Cut::Middle if view.map.job_of_request(request.request).is_some() => (0, false),
            Cut::Middle => match self.map.shaper().weigh(request.shard).await {
                Ok(Weight {
                    middle: Some(at), ..
                }) => (at, false),
                Ok(Weight { middle: None, .. }) => {
                    let shard = request.shard;
                    let words = format!("shard {shard} has fewer than two sites to divide");
                    return Ok(refused(words));
                }
                Err(ShapeError::Refused(reason)) => return Ok(refused(reason)),
                Err(ShapeError::Unavailable(reason)) => return Err(Status::unavailable(reason)),
            },
        };
        let command = changes::split(&request, &view.map, at, alone);
        self.change(&command).await
    }

    async fn r#move(
        &self,
        request: Request<pb::MoveRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let map = self.newest().await?.map;
        let command = changes::move_replica(&request.into_inner(), &map)?;
        self.change(&command).await
    }

    async fn drain(
        &self,
        request: Request<pb::DrainRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let command = changes::drain(request.into_inner())?;
        self.change(&command).await
    }

    async fn undrain(
        &self,
        request: Request<pb::UndrainRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        self.change(&changes::undrain(request.into_inner())).await
    }

    async fn replace(
        &self,
        request: Request<pb::ReplaceRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let command = changes::replace(request.into_inner())?;
        self.change(&command).await
    }

    async fn leave(
        &self,
        request: Request<pb::LeaveRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        self.change(&changes::leave(request.into_inner())).await
    }

    async fn pin(
        &self,
        request: Request<pb::PinRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        self.change(&changes::pin(request.into_inner())).await
    }

    async fn prefer_leader(
        &self,
        request: Request<pb::PreferLeaderRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let command = changes::prefer_leader(request.into_inner());
        self.change(&command).await
    }

    async fn cancel_job(
        &self,
        request: Request<pb::CancelJobRequest>,
    ) -> Result<Response<pb::ChangeResponse>, Status> {
        let _call = self.enter()?;
        let command = changes::cancel(request.into_inner())?;
        self.change(&command).await
    }

    async fn transfer_leader(
        &self,
        request: Request<pb::TransferLeaderRequest>,
    ) -> Result<Response<pb::TransferLeaderResponse>, Status> {
        let _call = self.enter()?;
        let request = request.into_inner();
        let reading = self.read(true).await;
        let answer = |refused: String, leads_already: bool| {
            Ok(Response::new(pb::TransferLeaderResponse {
                refused,
                leads_already,
            }))
        };
        let (shard, node) = (request.shard, request.node);
        let voter = match answers::voter_on(&reading.view.map, shard, node) {
            Ok(voter) => voter,
            // This copy may lag; without group 0 what it knows must do.
            Err(_) => match answers::voter_on(&self.newest().await?.map, shard, node) {
                Ok(voter) => voter,
                Err(reason) => return answer(reason, false),
            },
        };
        if reading.leaders.get(&shard) == Some(&node) {
            return answer(String::new(), true);
        }
        match self.map.shaper().hand_over(shard, voter).await {
            Ok(()) => answer(String::new(), false),
            Err(ShapeError::Refused(reason)) => answer(reason, false),
            Err(ShapeError::Unavailable(reason)) => Err(Status::unavailable(reason)),
        }
    }

    async fn founding(
        &self,
        _request: Request<pb::FoundingRequest>,
    ) -> Result<Response<pb::FoundingResponse>, Status> {
        let _call = self.enter()?;
        Ok(Response::new(backups::founding(&self.map)))
    }

    type ExportStream = backups::ExportParts;

    async fn export(
        &self,
        request: Request<pb::ExportRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let request = request.into_inner();
        let parts = backups::export(&self.node, &self.exports, request).await?;
        Ok(Response::new(parts))
    }

    async fn restore_shard(
        &self,
        request: Request<pb::RestoreShardRequest>,
    ) -> Result<Response<pb::RestoreShardResponse>, Status> {
        let _call = self.enter()?;
        let answer = backups::restore(&self.node, request.into_inner()).await?;
        Ok(Response::new(answer))
    }

    async fn recover_shard(
        &self,
        request: Request<pb::RecoverShardRequest>,
    ) -> Result<Response<pb::RecoverShardResponse>, Status> {
        let _call = self.enter()?;
        let answer = backups::recover(&self.node, &self.map, request.into_inner()).await?;
        Ok(Response::new(answer))
    }
}
