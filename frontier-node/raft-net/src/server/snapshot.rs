//! The receiving side of a snapshot.

use proto::raft_v1 as pb;
use tonic::{Status, Streaming};

use super::opening::{Refusal, first, payloads};
use super::{Receiving, check_size, stopping};
use crate::limits::{CHUNK_WAIT, MAX_CHUNK_BYTES};
use crate::status::to_status;

/// Hands the chunks of one group to the inbox, which tells from them whether all came: an end before the last chunk,
/// whatever caused it, makes it drop what it has.
pub(super) async fn serve(
    receiving: &Receiving,
    mut inbound: Streaming<pb::SnapshotRequest>,
) -> Result<pb::SnapshotReply, Status> {
    let opening = first(&mut inbound).await?;
    let identity = receiving.identity;
    identity.check(opening.envelope)?;
    let group_id = opening.group;
    let refusal = Refusal::default();
    let chunks = payloads(inbound, Some(CHUNK_WAIT), refusal.clone(), move |message| {
        identity.check(message.envelope)?;
        check_size("a snapshot chunk", message.chunk.len(), MAX_CHUNK_BYTES)?;
        if message.group != group_id {
            return Err(Status::invalid_argument("the stream is of another group"));
        }
        Ok(message.chunk)
    });
    let installed = tokio::select! {
        installed = receiving.inbox.snapshot(group_id, chunks) => installed,
        () = receiving.stop.cancelled() => return Err(stopping()),
    };
    match installed {
        Ok(reply) => Ok(pb::SnapshotReply { reply }),
        // What was refused is why the rest was missing.
        Err(error) => Err(refusal.lock().take().unwrap_or_else(|| to_status(&error))),
    }
}
