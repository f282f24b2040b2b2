//! The sending side of an append stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use proto::raft_v1 as pb;
use proto::raft_v1::raft_client::RaftClient;
use raftlog::{GroupId, ReplyStream, TransportError};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::metrics::Counters;
use crate::outgoing::Outgoing;
use crate::status::from_status;

/// What a stream needs to know besides its requests.
pub(crate) struct Appending {
    pub(crate) envelope: pb::Envelope,
    pub(crate) group_id: GroupId,
    /// Bounds the set-up, and the wait for a reply while one is owed.
    pub(crate) patience: Duration,
    /// Ends the stream.
    pub(crate) stop: CancellationToken,
    pub(crate) counters: Arc<Counters>,
}

/// Requests without a reply so far.
#[derive(Default)]
struct Owed {
    count: AtomicU64,
    grew: Notify,
}

impl Owed {
    fn sent(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.grew.notify_one();
    }

    fn answered(&self) {
        // A target that answers more than it was asked must not make the count wrap.
        let _already_none = self
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                count.checked_sub(1)
            });
    }

    /// Ends when a reply has been owed for the whole of `patience`.
    async fn overdue(&self, patience: Duration) {
        while self.count.load(Ordering::Acquire) == 0 {
            self.grew.notified().await;
        }
        tokio::time::sleep(patience).await;
    }
}

/// Opens a stream: its replies.
pub(crate) async fn open(
    mut client: RaftClient<Channel>,
    appending: Appending,
    requests: BoxStream<'static, Bytes>,
) -> Result<ReplyStream, TransportError> {
    let owed: Arc<Owed> = Arc::default();
    // The requests end when the replies are no longer wanted, whatever the connection does.
    let ended = appending.stop.child_token();
    let guard = ended.clone().drop_guard();
    let Appending {
        envelope, group_id, ..
    } = appending;
    let message = move |request| pb::AppendRequest {
        envelope: Some(envelope),
        group: group_id,
        request,
    };
    let (counters, counted) = (Arc::clone(&appending.counters), Arc::clone(&owed));
    let requests = requests.map(move |request| {
        counters.appends.sent(request.len());
        counted.sent();
        message(request)
    });
    let opening = stream::once(std::future::ready(message(Bytes::new())));
    let outgoing = Outgoing::new(opening.chain(requests), ended);
    let opened = tokio::time::timeout(appending.patience, client.append(outgoing))
        .await
        .map_err(|_| TransportError::TimedOut)?
        .map_err(|status| from_status(group_id, &status))?;
    Ok(Replies {
        inbound: opened.into_inner(),
        owed,
        appending,
        _requests_end: guard,
    }
    .into_stream())
}

struct Replies {
    inbound: Streaming<pb::AppendReply>,
    owed: Arc<Owed>,
    appending: Appending,
    _requests_end: DropGuard,
}

impl Replies {
    /// Replies until the first error.
    fn into_stream(self) -> ReplyStream {
        stream::unfold(Some(self), |replies| async {
            let mut replies = replies?;
            let reply = replies.next().await?;
            let go_on = reply.is_ok();
            Some((reply, go_on.then_some(replies)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<Bytes, TransportError>> {
        let appending = &self.appending;
        tokio::select! {
            biased;
            reply = self.inbound.message() => match reply {
                Ok(Some(message)) => {
                    self.owed.answered();
                    appending.counters.appends.received(message.reply.len());
                    Some(Ok(message.reply))
                }
                Ok(None) => None,
                Err(status) => Some(Err(from_status(appending.group_id, &status))),
            },
            () = appending.stop.cancelled() => {
                Some(Err(TransportError::Unreachable("the transport is closed".to_owned())))
            }
            () = self.owed.overdue(appending.patience) => Some(Err(TransportError::TimedOut)),
        }
    }
}
