//! The receiving side of a link.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, FuturesUnordered, StreamExt};
use proto::raft_v1 as pb;
use proto::raft_v1::heartbeat_reply::Outcome;
use raftlog::{CallKind, TransportError};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::opening::first;
use super::{Receiving, check_size, stopping};
use crate::limits::{
    LINK_QUEUE, LINK_SILENCE, MAX_BATCH_HEARTBEATS, MAX_CALL_BYTES, MAX_HEARTBEAT_TIME,
    MAX_HEARTBEATS_UNDER_WAY,
};
use crate::status::to_failure;

type Replies = BoxStream<'static, Result<pb::LinkReply, Status>>;

/// Serves a link whose sender may have one: its replies.
pub(super) async fn serve(
    receiving: Receiving,
    mut inbound: Streaming<pb::LinkRequest>,
) -> Result<Replies, Status> {
    let opening = first(&mut inbound).await?;
    receiving.identity.check(opening.envelope)?;
    let (out, replies) = mpsc::channel(LINK_QUEUE);
    let link = Link {
        receiving,
        out,
        under_way: FuturesUnordered::new(),
    };
    tokio::spawn(link.run(opening, inbound));
    Ok(ReceiverStream::new(replies).boxed())
}

/// An open link.
struct Link {
    receiving: Receiving,
    out: mpsc::Sender<Result<pb::LinkReply, Status>>,
    /// Heartbeats that groups work on, each for itself.
    under_way: FuturesUnordered<BoxFuture<'static, pb::HeartbeatReply>>,
}

/// The link is over; if the sender is still there it learns why.
struct Over(Option<Status>);

impl Link {
    async fn run(mut self, opening: pb::LinkRequest, inbound: Streaming<pb::LinkRequest>) {
        let stop = self.receiving.stop.clone();
        let over = tokio::select! {
            over = self.carry(opening, inbound) => over,
            () = stop.cancelled() => Over(Some(stopping())),
        };
        if let Over(Some(status)) = over {
            let _gone = self.out.try_send(Err(status));
        }
    }

    async fn carry(
        &mut self,
        opening: pb::LinkRequest,
        mut inbound: Streaming<pb::LinkRequest>,
    ) -> Over {
        let mut next = Some(opening);
        loop {
            if let Some(message) = next.take()
                && let Err(over) = self.take(message).await
            {
                return over;
            }
            tokio::select! {
                message = timeout(LINK_SILENCE, inbound.message()),
                    if self.under_way.len() < MAX_HEARTBEATS_UNDER_WAY =>
                {
                    match message {
                        Ok(Ok(Some(message))) => next = Some(message),
                        Ok(Ok(None)) => return Over(None),
                        Ok(Err(status)) => return Over(Some(status)),
                        Err(_) => return Over(Some(Status::deadline_exceeded("no ping came"))),
                    }
                }
                Some(reply) = self.under_way.next() => {
                    let replies = self.ready(reply);
                    if let Err(over) = self.send(pb::LinkReply { replies, pong: None }).await {
                        return over;
                    }
                }
            }
        }
    }

    /// Starts a message's heartbeats and answers its ping.
    async fn take(&mut self, message: pb::LinkRequest) -> Result<(), Over> {
        self.check(&message).map_err(|status| Over(Some(status)))?;
        for heartbeat in message.heartbeats {
            self.under_way
                .push(answer(self.receiving.clone(), heartbeat).boxed());
        }
        let Some(ping) = message.ping else {
            return Ok(());
        };
        let pong = pb::Pong {
            id: ping.id,
            wall_unix_ms: self.receiving.wall.wall_unix_ms(),
        };
        self.send(pb::LinkReply {
            replies: Vec::new(),
            pong: Some(pong),
        })
        .await
    }

    fn check(&self, message: &pb::LinkRequest) -> Result<(), Status> {
        self.receiving.identity.check(message.envelope)?;
        if message.heartbeats.len() > MAX_BATCH_HEARTBEATS {
            return Err(Status::invalid_argument("too many heartbeats in a message"));
        }
        let sizes = message.heartbeats.iter().map(|beat| beat.request.len());
        sizes
            .into_iter()
            .try_for_each(|size_bytes| check_size("a heartbeat", size_bytes, MAX_CALL_BYTES))
    }

    /// All replies that are there, with this one.
    fn ready(&mut self, reply: pb::HeartbeatReply) -> Vec<pb::HeartbeatReply> {
        let mut replies = vec![reply];
        while replies.len() < MAX_BATCH_HEARTBEATS
            && let Some(Some(reply)) = self.under_way.next().now_or_never()
        {
            replies.push(reply);
        }
        replies
    }

    async fn send(&mut self, reply: pb::LinkReply) -> Result<(), Over> {
        match timeout(LINK_SILENCE, self.out.send(Ok(reply))).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Over(None)),
        }
    }
}

/// Asks one group.
async fn answer(receiving: Receiving, heartbeat: pb::Heartbeat) -> pb::HeartbeatReply {
    let limit = Duration::from_millis(heartbeat.timeout_ms.into()).min(MAX_HEARTBEAT_TIME);
    let asked = receiving
        .inbox
        .call(heartbeat.group, CallKind::Heartbeat, &heartbeat.request);
    let outcome = match within(limit, asked).await {
        Ok(reply) => Outcome::Reply(reply),
        Err(error) => Outcome::Failure(to_failure(&error)),
    };
    pb::HeartbeatReply {
        id: heartbeat.id,
        outcome: Some(outcome),
    }
}

async fn within(
    limit: Duration,
    asked: impl Future<Output = Result<Bytes, TransportError>>,
) -> Result<Bytes, TransportError> {
    timeout(limit, asked)
        .await
        .unwrap_or(Err(TransportError::TimedOut))
}
