//! Replies of an append stream, matched with their requests.
//!
//! openraft purges nothing that a stream may still send, and it never ends a stream by itself. So a stream is ended
//! here, with an error, when a reply does not come, and when its receiver is so slow that what it lacks is to be
//! purged: it is fed a snapshot then. And openraft sends nothing more before a stream whose requests are all answered has
//! ended, so that end is not waited for without limit: what announces it may be lost.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use openraft::errors::RPCError;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, StreamAppendResult};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{malformed, rpc_error};
use crate::errors::TransportError;
use crate::raft_types::{LogId, TypeConfig, index_of};
use crate::transport::ReplyStream;
use crate::wire::{AppendReplyMsg, decode};

/// What must be known of a request to read its reply.
pub(super) struct Span {
    previous: Option<LogId>,
    last: Option<LogId>,
    sent: Instant,
}

impl Span {
    /// That of a request which is sent now.
    pub(super) fn of(request: &AppendEntriesRequest<TypeConfig>) -> Self {
        let last = request.entries.last().map(|entry| entry.log_id);
        Self {
            previous: request.prev_log_id,
            last: last.or(request.prev_log_id),
            sent: Instant::now(),
        }
    }
}

pub(super) type AppendResult = Result<StreamAppendResult<TypeConfig>, RPCError<TypeConfig>>;

/// What ends a stream that would not end by itself.
pub(super) struct Limits {
    /// Longest wait for a reply.
    pub(super) patience: Duration,
    /// Index up to which the log is to be purged.
    pub(super) purge_due: watch::Receiver<u64>,
}

struct State {
    replies: ReplyStream,
    spans: mpsc::UnboundedReceiver<Span>,
    /// No request follows.
    spans_ended: bool,
    /// Requests without a reply, the oldest first.
    waiting: VecDeque<Span>,
    last_reply: Instant,
    limits: Limits,
}

/// Matches replies with the spans of their requests; ends with the first that is an error.
pub(super) fn read_replies(
    replies: ReplyStream,
    spans: mpsc::UnboundedReceiver<Span>,
    limits: Limits,
) -> BoxStream<'static, AppendResult> {
    let state = State {
        replies,
        spans,
        spans_ended: false,
        waiting: VecDeque::new(),
        last_reply: Instant::now(),
        limits,
    };
    futures::stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        let result = state.next().await?;
        let go_on = matches!(result, Ok(Ok(_)));
        Some((result, go_on.then_some(state)))
    })
    .boxed()
}

impl State {
    async fn next(&mut self) -> Option<AppendResult> {
        loop {
            if let Some(error) = self.overdue() {
                return Some(Err(rpc_error(&error)));
            }
            let deadline = self.deadline();
            if self.waiting.is_empty() && deadline.is_some_and(|at| at <= Instant::now()) {
                return None;
            }
            tokio::select! {
                biased;
                reply = self.replies.next() => {
                    let Some(reply) = reply else { return self.ended() };
                    self.last_reply = Instant::now();
                    let span = match self.waiting.pop_front() {
                        Some(span) => span,
                        // Sent before its request was.
                        None => self.spans.recv().await?,
                    };
                    return Some(read_reply(reply, &span));
                }
                span = self.spans.recv(), if !self.spans_ended => match span {
                    Some(span) => self.waiting.push_back(span),
                    None => self.spans_ended = true,
                },
                changed = self.limits.purge_due.changed(), if !self.waiting.is_empty() => {
                    changed.ok()?;
                }
                () = sleep_until(deadline), if deadline.is_some() => {}
            }
        }
    }

    /// The end of the replies. Before all are answered it is an error: openraft opens a stream that merely ended again at
    /// once, for ever and without a pause.
    fn ended(&mut self) -> Option<AppendResult> {
        if self.waiting.is_empty() && self.spans.try_recv().is_err() {
            return None;
        }
        let error = TransportError::Unreachable("the stream ended".to_owned());
        Some(Err(rpc_error(&error)))
    }

    /// Until when something must come: the reply to the oldest request, or the end after the last reply.
    fn deadline(&self) -> Option<Instant> {
        let ends = self.spans_ended.then_some(self.last_reply);
        let since = self.waiting.front().map(|oldest| oldest.sent).or(ends)?;
        Some(since + self.limits.patience)
    }

    /// Why the oldest request is no longer waited for.
    fn overdue(&self) -> Option<TransportError> {
        let oldest = self.waiting.front()?;
        if index_of(&oldest.previous) < *self.limits.purge_due.borrow() {
            let reason = "too slow: what it lacks is to be purged";
            return Some(TransportError::Unreachable(reason.to_owned()));
        }
        (oldest.sent.elapsed() >= self.limits.patience).then_some(TransportError::TimedOut)
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn read_reply(reply: Result<Bytes, TransportError>, span: &Span) -> AppendResult {
    let reply = reply.map_err(|error| rpc_error(&error))?;
    let reply: AppendReplyMsg =
        decode("append reply", &reply).map_err(|error| rpc_error(&malformed(&error)))?;
    let response = AppendEntriesResponse::<TypeConfig>::from(reply);
    if response.is_conflict() && span.previous.is_none() {
        // Nothing precedes the first entry, so nothing can conflict with it.
        let error = TransportError::Malformed("conflict before the first entry".to_owned());
        return Err(rpc_error(&error));
    }
    Ok(response.into_stream_result(span.previous, span.last))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::raft_types::log_id;
    use crate::wire::encode;

    fn span(previous: u64, last: u64) -> Span {
        Span {
            previous: Some(log_id(1, previous)),
            last: Some(log_id(1, last)),
            sent: Instant::now(),
        }
    }

    struct Streams {
        replies: mpsc::UnboundedSender<Result<Bytes, TransportError>>,
        spans: mpsc::UnboundedSender<Span>,
        purge_due: watch::Sender<u64>,
        results: BoxStream<'static, AppendResult>,
    }

    fn streams() -> Streams {
        let (replies, incoming) = mpsc::unbounded_channel();
        let (spans, outgoing) = mpsc::unbounded_channel();
        let (purge_due, due) = watch::channel(0);
        let incoming = futures::stream::unfold(incoming, |mut incoming| async move {
            Some((incoming.recv().await?, incoming))
        });
        let limits = Limits {
            patience: Duration::from_secs(2),
            purge_due: due,
        };
        let results = read_replies(incoming.boxed(), outgoing, limits);
        Streams {
            replies,
            spans,
            purge_due,
            results,
        }
    }

    fn taken() -> Result<Bytes, TransportError> {
        Ok(encode(&AppendReplyMsg::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_does_not_come_ends_the_stream() {
        let mut streams = streams();
        streams.spans.send(span(4, 9)).unwrap();
        streams.replies.send(taken()).unwrap();
        let first = streams.results.next().await.unwrap().unwrap();
        assert_eq!(first.unwrap(), Some(log_id(1, 9)));
        // An idle stream is not overdue, a request is after its patience, counted from its sending.
        let idle = tokio::time::timeout(Duration::from_secs(60), streams.results.next());
        assert!(idle.await.is_err());
        streams.spans.send(span(9, 12)).unwrap();
        assert!(streams.results.next().await.unwrap().is_err());
        assert!(streams.results.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_an_answered_stream_is_not_waited_for_without_limit() {
        let mut streams = streams();
        streams.spans.send(span(4, 9)).unwrap();
        streams.replies.send(taken()).unwrap();
        drop(streams.spans);
        assert!(streams.results.next().await.unwrap().is_ok());
        let end = tokio::time::timeout(Duration::from_secs(60), streams.results.next());
        assert!(matches!(end.await, Ok(None)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_receiver_below_what_is_purged_is_given_up() {
        let mut streams = streams();
        streams.spans.send(span(4, 9)).unwrap();
        streams.purge_due.send_replace(4);
        streams.replies.send(taken()).unwrap();
        assert!(streams.results.next().await.unwrap().is_ok());
        streams.spans.send(span(9, 12)).unwrap();
        streams.purge_due.send_replace(10);
        assert!(streams.results.next().await.unwrap().is_err());
        assert!(streams.results.next().await.is_none());
    }
}
