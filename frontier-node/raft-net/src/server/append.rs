//! The receiving side of an append stream.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use proto::raft_v1 as pb;
use tonic::{Status, Streaming};

use super::opening::{Refusal, first, payloads};
use super::{Receiving, check_size, stopping};
use crate::limits::MAX_APPEND_BYTES;
use crate::status::to_status;

/// Hands the requests of one group to the inbox: its replies, and at the end why it was cut short.
pub(super) async fn serve(
    receiving: &Receiving,
    mut inbound: Streaming<pb::AppendRequest>,
) -> Result<BoxStream<'static, Result<pb::AppendReply, Status>>, Status> {
    let opening = first(&mut inbound).await?;
    let identity = receiving.identity;
    identity.check(opening.envelope)?;
    let group_id = opening.group;
    let refusal = Refusal::default();
    let requests = payloads(inbound, None, refusal.clone(), move |message| {
        identity.check(message.envelope)?;
        check_size("an append request", message.request.len(), MAX_APPEND_BYTES)?;
        if message.group != group_id {
            return Err(Status::invalid_argument("the stream is of another group"));
        }
        Ok(message.request)
    });
    let replies = receiving
        .inbox
        .append_stream(group_id, requests)
        .map_err(|error| to_status(&error))?;
    let replies = replies.map(|reply| match reply {
        Ok(reply) => Ok(pb::AppendReply { reply }),
        Err(error) => Err(to_status(&error)),
    });
    let stop = receiving.stop.clone();
    let stopped = stop.clone();
    let last = stream::once(async move {
        let refused = refusal.lock().take();
        refused.or_else(|| stopped.is_cancelled().then(stopping))
    });
    let last = last.filter_map(|status| std::future::ready(status.map(Err)));
    Ok(replies
        .take_until(stop.cancelled_owned())
        .chain(last)
        .boxed())
}
