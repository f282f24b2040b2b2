//! Backups, restores and recoveries as `admin.v1` speaks of them.

use std::sync::Arc;

use client::CallError;
use futures::{Stream, StreamExt};
use machine::command::restore as m;
use pb::restore_shard_request::Step;
use proto::admin_v1 as pb;
use tokio::sync::Semaphore;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::backup::{Export, ExportPart, Restored};
use crate::limits::EXPORTS;
use crate::map::{MapError, MapNode};
use crate::node::FrontierNode;

/// What is sent of an export.
pub(crate) type ExportParts =
    std::pin::Pin<Box<dyn Stream<Item = Result<pb::ExportPart, Status>> + Send>>;

/// What a cluster is founded from.
pub(super) fn founding(map: &MapNode) -> pb::FoundingResponse {
    let descriptor = map.descriptor();
    pb::FoundingResponse {
        cluster_id: descriptor.cluster_id,
        fingerprint_secret: descriptor.key.to_bytes().to_vec().into(),
        suffix_list_digest: descriptor.suffix_list_digest,
        canonicalizer_version: descriptor.canonicalizer_version,
    }
}

/// Begins an export, if there is place for one more.
pub(super) async fn export(
    node: &FrontierNode,
    places: &Arc<Semaphore>,
    request: pb::ExportRequest,
) -> Result<ExportParts, Status> {
    let place = Arc::clone(places).try_acquire_owned();
    let place = place.map_err(|_| {
        Status::resource_exhausted(format!("more than {EXPORTS} exports are under way"))
    })?;
    let export = Export {
        shard: request.shard,
        begin: request.begin,
    };
    let parts = node
        .export(export, place)
        .await
        .map_err(|error| status(&error))?;
    let parts = ReceiverStream::new(parts);
    Ok(Box::pin(parts.map(move |part| match part {
        Ok(part) => Ok(part_of(request.shard, part)),
        Err(error) => Err(status(&error)),
    })))
}

fn part_of(shard: u64, part: ExportPart) -> pb::ExportPart {
    use pb::export_part::Part;
    let part = match part {
        ExportPart::Header(cut, applied_index) => Part::Header(pb::ExportHeader {
            shard,
            first: cut.first,
            last: cut.last,
            epoch: cut.epoch,
            now_ms: cut.now_ms,
            token: cut.token,
            outbox_sequence: cut.outbox_sequence,
            applied_index,
            paused: cut.paused,
            dead_stores: cut.dead_stores,
        }),
        ExportPart::Rows(rows) => Part::Rows(rows.into()),
        ExportPart::End(rows) => Part::End(pb::ExportEnd { rows }),
    };
    pb::ExportPart { part: Some(part) }
}

/// A step of a restore, or a look.
pub(super) async fn restore(
    node: &FrontierNode,
    request: pb::RestoreShardRequest,
) -> Result<pb::RestoreShardResponse, Status> {
    let restore = m::Restore {
        id: request.restore,
        step: request.step.map(step_of),
    };
    let restored = node.restore_shard(request.shard, restore).await;
    Ok(match restored.map_err(|error| status(&error))? {
        Restored::Step(m::RestoreReply::Done(done)) => done_of(done),
        Restored::Step(m::RestoreReply::Refused(refused)) => pb::RestoreShardResponse {
            refused,
            ..pb::RestoreShardResponse::default()
        },
        Restored::Look(state) => {
            let done = state
                .begun
                .map_or_else(pb::RestoreShardResponse::default, |begun| {
                    pb::RestoreShardResponse {
                        restore: begun.0,
                        ..done_of(begun.1)
                    }
                });
            pb::RestoreShardResponse {
                refused: state.refused.unwrap_or_default().to_owned(),
                ..done
            }
        }
    })
}

fn step_of(step: Step) -> m::Step {
    match step {
        Step::Begin(begin) => m::Step::Begin(m::Begin {
            now_ms: begin.now_ms,
            token: begin.token,
            outbox_sequence: begin.outbox_sequence,
            paused: begin.paused,
            dead_stores: begin.dead_stores,
        }),
        Step::Rows(rows) => m::Step::Rows(m::Rows {
            sequence: rows.sequence,
            source_now_ms: rows.source_now_ms,
            rows: rows.rows.into(),
        }),
        Step::Build(_) => m::Step::Build(m::Build {}),
        Step::Again(again) => {
            let pages = again.pages.into_iter();
            let page = |page: pb::RestorePage| m::Page {
                partition: page.partition,
                fingerprint: page.fingerprint,
            };
            m::Step::Again(m::Again {
                pages: pages.map(page).collect(),
            })
        }
        Step::Close(_) => m::Step::Close(m::Close {}),
    }
}

fn done_of(done: m::RestoreDone) -> pb::RestoreShardResponse {
    let stage = match done.stage {
        m::Stage::Filling => pb::RestoreStage::Filling,
        m::Stage::Built => pb::RestoreStage::Built,
        m::Stage::Closed => pb::RestoreStage::Closed,
    };
    pb::RestoreShardResponse {
        refused: String::new(),
        stage: stage.into(),
        sequence: done.sequence,
        queued: done.queued,
        restore: 0,
    }
}

/// A recovery of one shard.
pub(super) async fn recover(
    node: &FrontierNode,
    map: &MapNode,
    request: pb::RecoverShardRequest,
) -> Result<pb::RecoverShardResponse, Status> {
    let recovered = node.recover_shard(request.shard, request.recovery).await;
    let recovered = recovered.map_err(|error| status(&error))?;
    let recovered = recovered.ok_or_else(|| Status::invalid_argument("recovery is 0"))?;
    let refused = match request.adopt {
        true => adopt(node, map, request.shard).await?,
        false => String::new(),
    };
    Ok(pb::RecoverShardResponse {
        wait_ms: recovered.wait_ms,
        leases_left: recovered.leases_left,
        refused,
    })
}

/// Tells the map that a shard which this node leads went on with the replica here alone; why it does not believe it.
async fn adopt(node: &FrontierNode, map: &MapNode, shard: u64) -> Result<String, Status> {
    let standing = node.shard_standing(shard);
    let standing = standing.ok_or_else(|| Status::unavailable("the shard is not here"))?;
    let mut voters = standing.voters.iter().chain(&standing.learners);
    let (Some(sole), None) = (voters.next(), voters.next()) else {
        return Ok(format!("shard {shard} has more than one replica"));
    };
    let recover = shard_map::command::RecoverGroup {
        group: shard,
        replica: *sole,
    };
    let command = shard_map::Body::RecoverGroup(recover).into();
    match map.change(&command).await {
        Ok(_) => Ok(String::new()),
        Err(MapError::Refused(reason)) => Ok(reason),
        Err(error) => Err(Status::unavailable(error.to_string())),
    }
}

fn status(error: &CallError) -> Status {
    match error {
        CallError::Invalid { reason, .. } => Status::invalid_argument(reason.clone()),
        CallError::OverLimit { .. } => Status::resource_exhausted(error.to_string()),
        other => Status::unavailable(other.to_string()),
    }
}
