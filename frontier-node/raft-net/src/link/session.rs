//! A link while it is open.

use std::collections::HashMap;

use bytes::Bytes;
use proto::raft_v1 as pb;
use proto::raft_v1::heartbeat_reply::Outcome;
use raftlog::{GroupId, TransportError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tonic::{Status, Streaming};

use super::batch::{Batch, Beat};
use super::handle::LinkEnd;
use super::open::Opened;
use super::task::LinkContext;
use crate::limits::SILENT_PINGS;
use crate::metrics::add;
use crate::status::{causes, from_failure};
use crate::wall::Received;

/// Why an open link ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// On this side, on purpose.
    Closed,
    /// The connection broke, or the other side ended it.
    Broke(String),
    /// Pings have no answer.
    Silent,
}

/// Who waits for one heartbeat's reply.
struct Waiting {
    group_id: GroupId,
    answer: oneshot::Sender<Result<Bytes, TransportError>>,
}

/// An open link. Who still waits when it is dropped learns that it broke.
pub(super) struct Session {
    out: mpsc::Sender<pb::LinkRequest>,
    inbound: Streaming<pb::LinkReply>,
    batch: Batch,
    waiting: HashMap<u64, Waiting>,
    /// When each ping left, by its id.
    pings: HashMap<u64, Instant>,
    next_id: u64,
    /// Pings since the last message from the peer.
    silent_pings: u32,
}

/// Id of the ping in the first message.
pub(super) const FIRST_PING: u64 = 0;

impl Session {
    pub(super) fn new(opened: Opened) -> Self {
        Self {
            out: opened.out,
            inbound: opened.inbound,
            batch: Batch::default(),
            waiting: HashMap::new(),
            pings: HashMap::from([(FIRST_PING, opened.first_ping)]),
            next_id: FIRST_PING + 1,
            silent_pings: 0,
        }
    }

    /// Carries heartbeats and pings until the link ends.
    pub(super) async fn run(&mut self, context: &LinkContext, end: &mut LinkEnd) -> Ended {
        let pause = context.options.ping_interval();
        let mut ping = interval_at(Instant::now() + pause, pause);
        // After a halt of this process one tick follows, not many: what the peer sent meanwhile is read before the
        // next, so that the peer is not blamed.
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = self.batch.due();
            tokio::select! {
                biased;
                () = context.stop.cancelled() => return Ended::Closed,
                reply = self.inbound.message() => match self.take(reply, context, end) {
                    Ok(()) => {}
                    Err(ended) => return ended,
                },
                _ = ping.tick() => {
                    self.waiting.retain(|_, waiting| !waiting.answer.is_closed());
                    if self.silent_pings >= SILENT_PINGS {
                        return Ended::Silent;
                    }
                    self.ping(context);
                }
                // What waits already goes along, even when this task comes late.
                Some(beat) = end.queue.recv(), if self.batch.has_room() => {
                    self.batch.push(beat, Instant::now(), context.options.heartbeat_window());
                }
                () = until(due) => self.flush(context),
            }
        }
    }

    fn take(
        &mut self,
        reply: Result<Option<pb::LinkReply>, Status>,
        context: &LinkContext,
        end: &LinkEnd,
    ) -> Result<(), Ended> {
        let message = match reply {
            Ok(Some(message)) => message,
            Ok(None) => return Err(Ended::Broke("the peer ended it".to_owned())),
            Err(status) => {
                let reason = format!("{}{}", status.message(), causes(&status));
                return Err(Ended::Broke(reason));
            }
        };
        self.silent_pings = 0;
        if let Some(pong) = message.pong
            && let Some(sent) = self.pings.remove(&pong.id)
        {
            context.counters.pings.received(0);
            let received = Received::new(pong.wall_unix_ms, sent, Instant::now());
            *end.sample.lock() = Some(received);
        }
        for reply in message.replies {
            self.answer(reply, context);
        }
        Ok(())
    }

    /// Hands one reply to who waits for it. A repeated one, or one that came too late, has nobody.
    fn answer(&mut self, reply: pb::HeartbeatReply, context: &LinkContext) {
        let Some(waiting) = self.waiting.remove(&reply.id) else {
            return;
        };
        let outcome = match reply.outcome {
            Some(Outcome::Reply(bytes)) => {
                context.counters.heartbeats.received(bytes.len());
                Ok(bytes)
            }
            Some(Outcome::Failure(failure)) => Err(from_failure(waiting.group_id, &failure)),
            None => Err(TransportError::Malformed(
                "a heartbeat's reply is empty".to_owned(),
            )),
        };
        let _gave_up = waiting.answer.send(outcome);
    }

    fn ping(&mut self, context: &LinkContext) {
        self.silent_pings += 1;
        let id = self.id();
        let message = context.message(Vec::new(), Some(id));
        let sent = Instant::now();
        // A queue that is full shows a peer that does not read; the count of silent pings ends the link.
        if self.out.try_send(message).is_ok() {
            context.counters.pings.sent(0);
            self.pings.retain(|_, at| {
                sent.duration_since(*at) < context.options.ping_interval() * (SILENT_PINGS + 1)
            });
            self.pings.insert(id, sent);
        }
    }

    fn flush(&mut self, context: &LinkContext) {
        let Ok(place) = self.out.clone().try_reserve_owned() else {
            self.batch
                .put_off(Instant::now() + context.options.heartbeat_window());
            return;
        };
        let beats = self.batch.take();
        if beats.is_empty() {
            return;
        }
        let heartbeats = beats
            .into_iter()
            .map(|beat| self.enter(beat, context))
            .collect();
        add(&context.counters.heartbeat_batches, 1);
        place.send(context.message(heartbeats, None));
    }

    /// Notes who waits for a heartbeat's reply.
    fn enter(&mut self, beat: Beat, context: &LinkContext) -> pb::Heartbeat {
        let id = self.id();
        context.counters.heartbeats.sent(beat.request.len());
        let left = beat.deadline.saturating_duration_since(Instant::now());
        let heartbeat = pb::Heartbeat {
            id,
            group: beat.group_id,
            timeout_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
            request: beat.request,
        };
        let waiting = Waiting {
            group_id: beat.group_id,
            answer: beat.answer,
        };
        self.waiting.insert(id, waiting);
        heartbeat
    }

    const fn id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
