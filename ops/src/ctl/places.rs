//! `move`, `drain`, `undrain`, `replace`, `leave`, `pin`, `prefer-leader`: where replicas are, and which nodes there are.

use super::args::{DrainArgs, LeaveArgs, MoveArgs, NodeArgs, PinArgs, PreferArgs, ReplaceArgs};
use super::ask::{Asker, End};
use super::{job, json};
use proto::admin_v1 as pb;

/// Begins a move, and waits for its end if that is wanted.
pub(super) async fn move_replica(asker: &mut Asker, args: &MoveArgs) -> Result<(), End> {
    let request = pb::MoveRequest {
        request: job::draw(),
        shard: args.shard,
        epoch: args.epoch.unwrap_or(0),
        from: args.from.unwrap_or(0),
        to: args.to,
        pin: args.pin,
    };
    let accepted = asker.change(async |admin| admin.move_replica(request).await);
    let accepted = accepted.await?;
    job::begun(asker, &accepted, &args.wait).await
}

/// Begins a drain, and waits until the node is empty if that is wanted.
pub(super) async fn drain(asker: &mut Asker, args: &DrainArgs) -> Result<(), End> {
    let request = pb::DrainRequest {
        request: job::draw(),
        node: args.node,
    };
    let accepted = asker.change(async |admin| admin.drain(request).await);
    let accepted = accepted.await?;
    job::begun(asker, &accepted, &args.wait).await
}

/// Gives a node its place back.
pub(super) async fn undrain(asker: &mut Asker, args: &NodeArgs) -> Result<(), End> {
    let node = args.node;
    let accepted = asker.change(async |admin| admin.undrain(pb::UndrainRequest { node }).await);
    let accepted = accepted.await?;
    show(asker, &accepted, || {
        format!("node {node} may have replicas")
    })
}

/// Begins to give a dead node up, and waits for its end if that is wanted.
pub(super) async fn replace(asker: &mut Asker, args: &ReplaceArgs) -> Result<(), End> {
    let request = pb::ReplaceRequest {
        request: job::draw(),
        node: args.node,
    };
    let accepted = asker.change(async |admin| admin.replace(request).await);
    let accepted = accepted.await?;
    job::begun(asker, &accepted, &args.wait).await
}

/// Takes an empty node out of the cluster.
pub(super) async fn leave(asker: &mut Asker, args: &LeaveArgs) -> Result<(), End> {
    let node = args.node;
    let accepted = asker.change(async |admin| admin.leave(pb::LeaveRequest { node }).await);
    let accepted = accepted.await?;
    show(asker, &accepted, || format!("node {node} is gone"))
}

/// Pins a shard, or frees it.
pub(super) async fn pin(asker: &mut Asker, args: &PinArgs) -> Result<(), End> {
    let request = pb::PinRequest {
        shard: args.shard,
        nodes: args.place.nodes.clone(),
    };
    let accepted = asker.change(async |admin| admin.pin(request.clone()).await);
    let accepted = accepted.await?;
    let (shard, nodes) = (args.shard, &args.place.nodes);
    show(asker, &accepted, || match nodes.as_slice() {
        [] => format!("shard {shard} is where the cluster puts it"),
        nodes => format!("shard {shard} is pinned to nodes {nodes:?}"),
    })
}

/// Says who should lead a shard.
pub(super) async fn prefer_leader(asker: &mut Asker, args: &PreferArgs) -> Result<(), End> {
    let PreferArgs { shard, node } = *args;
    let request = pb::PreferLeaderRequest { shard, node };
    let accepted = asker.change(async |admin| admin.prefer_leader(request).await);
    let accepted = accepted.await?;
    show(asker, &accepted, || match node {
        0 => format!("any node may lead shard {shard}"),
        node => format!("node {node} should lead shard {shard}"),
    })
}

/// What was changed, or that it was so before.
fn show(asker: &Asker, accepted: &pb::Accepted, words: impl FnOnce() -> String) -> Result<(), End> {
    let before = if accepted.changed { "" } else { ", as before" };
    asker.show(
        || json::accepted(accepted),
        || format!("{}{before}", words()),
    )
}
