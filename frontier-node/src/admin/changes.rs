//! Requests as commands of the map, checked.

use pb::split_request::Point;
use proto::admin_v1 as pb;
use shard_map::{
    Body, Command, ShardMap,
    command::{CancelJob, SplitShard},
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
    if request.request == 0 {
        return Err(Status::invalid_argument("request is 0"));
    }
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
    let here = map
        .members(request.shard)
        .map_or(0, |members| members.epoch);
    let epoch = match request.epoch {
        0 => here,
        given => given,
    };
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
