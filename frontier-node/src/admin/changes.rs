//! Requests as commands of the map, checked.

use pb::split_request::Point;
use proto::admin_v1 as pb;
use shard_map::{
    Body, Command, ShardMap,
    command::{
        CancelJob, Drain, Leave, MoveReplica, Pin, Replace, SplitShard, Undrain, WishLeader,
    },
    limits::REASON_SIZE_BYTES,
};
use tonic::Status;

use crate::convert::Verifier;

/// Where a shard is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// At a hash.
    At(u64),
    /// At the middle of the load, which its leader knows.
    Middle,
    /// So that the site of this hash stands alone.
    Alone(u64),
}

/// Where a request wants the cut.
pub(super) fn cut(request: &pb::SplitRequest, verifier: &Verifier) -> Result<Cut, Status> {
    drawn(request.request)?;
    match &request.point {
        None => Err(Status::invalid_argument("no point to split at")),
        Some(Point::At(at)) => Ok(Cut::At(*at)),
        Some(Point::Middle(true)) => Ok(Cut::Middle),
        Some(Point::Middle(false)) => Err(Status::invalid_argument("middle is false")),
        Some(Point::AroundHost(host)) => site(host, verifier).map(Cut::Alone),
    }
}

/// The partition hash of a host's site.
fn site(host: &str, verifier: &Verifier) -> Result<u64, Status> {
    let hash = verifier.partition_of_host(host);
    hash.map_err(|_| {
        Status::invalid_argument("around_host is not a host's canonical name without a port")
    })
}

/// The command of a split; a request without an epoch means the shard as this copy of the map has it.
pub(super) fn split(request: &pb::SplitRequest, map: &ShardMap, at: u64, alone: bool) -> Command {
    let epoch = epoch(map, request.shard, request.epoch);
    Command {
        request: request.request,
        ..Body::SplitShard(SplitShard {
            shard: request.shard,
            epoch,
            at,
            alone,
        })
        .into()
    }
}

/// The number by which a repeat finds its job.
fn drawn(request: u64) -> Result<u64, Status> {
    if request == 0 {
        return Err(Status::invalid_argument("request is 0"));
    }
    Ok(request)
}

/// The epoch that a request means: its own, or that of this copy of the map.
fn epoch(map: &ShardMap, group: u64, given: u64) -> u64 {
    match given {
        0 => map.members(group).map_or(0, |members| members.epoch),
        given => given,
    }
}

/// The command of a job, with its number.
fn job(request: u64, body: Body) -> Result<Command, Status> {
    Ok(Command {
        request: drawn(request)?,
        ..body.into()
    })
}

/// The command that gives a replica of one node to another.
pub(super) fn move_replica(request: &pb::MoveRequest, map: &ShardMap) -> Result<Command, Status> {
    let moved = MoveReplica {
        shard: request.shard,
        epoch: epoch(map, request.shard, request.epoch),
        from: request.from,
        to: request.to,
        pin: request.pin,
        replica: 0,
    };
    job(request.request, Body::MoveReplica(moved))
}

/// The command that empties a node that lives.
pub(super) fn drain(request: pb::DrainRequest) -> Result<Command, Status> {
    let node = request.node;
    job(request.request, Body::Drain(Drain { node }))
}

/// The command that gives a node its place back.
pub(super) fn undrain(request: pb::UndrainRequest) -> Command {
    Body::Undrain(Undrain { node: request.node }).into()
}

/// The command that empties a node that is dead.
pub(super) fn replace(request: pb::ReplaceRequest) -> Result<Command, Status> {
    let node = request.node;
    job(request.request, Body::Replace(Replace { node }))
}

/// The command with which an empty node goes.
pub(super) fn leave(request: pb::LeaveRequest) -> Command {
    Body::Leave(Leave { node: request.node }).into()
}

/// The command that says where a group's replicas should be.
pub(super) fn pin(request: pb::PinRequest) -> Command {
    let pb::PinRequest { shard, nodes } = request;
    Body::Pin(Pin { shard, nodes }).into()
}

/// The command that says who should lead a group.
pub(super) fn prefer_leader(request: pb::PreferLeaderRequest) -> Command {
    let pb::PreferLeaderRequest { shard, node } = request;
    Body::WishLeader(WishLeader { shard, node }).into()
}

/// The command that takes a job back.
pub(super) fn cancel(request: pb::CancelJobRequest) -> Result<Command, Status> {
    if request.reason.len() > REASON_SIZE_BYTES {
        return Err(Status::invalid_argument(format!(
            "reason is longer than {REASON_SIZE_BYTES} bytes"
        )));
    }
    let body = Body::CancelJob(CancelJob {
        job: request.job,
        reason: request.reason,
        group_refused: false,
    });
    Ok(body.into())
}
