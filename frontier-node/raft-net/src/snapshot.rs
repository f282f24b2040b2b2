//! The sending side of a snapshot.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use proto::raft_v1 as pb;
use proto::raft_v1::raft_client::RaftClient;
use raftlog::{GroupId, TransportError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::limits::INSTALL_WAIT;
use crate::metrics::Counters;
use crate::outgoing::Outgoing;
use crate::status::from_status;

/// What a transfer needs to know besides its chunks.
pub(crate) struct Sending {
    pub(crate) envelope: pb::Envelope,
    pub(crate) group_id: GroupId,
    /// Longest wait for the target to take a chunk.
    pub(crate) chunk_timeout: Duration,
    /// Ends the transfer.
    pub(crate) stop: CancellationToken,
    pub(crate) counters: Arc<Counters>,
}

/// Whom a transfer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The target, to take a chunk.
    Target,
    /// This side, to read the next chunk.
    Source,
    /// The target, to install what it has.
    Install,
}

/// Chunks that tell who is waited for. They are asked for only while the connection has room.
struct Watched {
    chunks: BoxStream<'static, Bytes>,
    waiting: watch::Sender<Waiting>,
}

impl Stream for Watched {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let polled = self.chunks.poll_next_unpin(context);
        self.waiting.send_replace(match &polled {
            Poll::Pending => Waiting::Source,
            Poll::Ready(Some(_)) => Waiting::Target,
            Poll::Ready(None) => Waiting::Install,
        });
        polled
    }
}

/// Ends when the target has kept the transfer waiting for too long.
async fn stalled(mut waiting: watch::Receiver<Waiting>, chunk_timeout: Duration) {
    loop {
        let limit = match *waiting.borrow_and_update() {
            Waiting::Source => None,
            Waiting::Target => Some(chunk_timeout),
            Waiting::Install => Some(INSTALL_WAIT),
        };
        let changed = async {
            if waiting.changed().await.is_err() {
                // The chunks are gone; what remains is the answer.
                std::future::pending::<()>().await;
            }
        };
        match limit {
            None => changed.await,
            Some(limit) => {
                if tokio::time::timeout(limit, changed).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Sends a snapshot and waits until it is installed. Dropping the future ends the transfer.
pub(crate) async fn send(
    mut client: RaftClient<Channel>,
    sending: Sending,
    chunks: BoxStream<'static, Bytes>,
) -> Result<Bytes, TransportError> {
    let Sending {
        envelope, group_id, ..
    } = sending;
    let message = move |chunk| pb::SnapshotRequest {
        envelope: Some(envelope),
        group: group_id,
        chunk,
    };
    let (waiting, seen) = watch::channel(Waiting::Target);
    let counters = Arc::clone(&sending.counters);
    let chunks = Watched { chunks, waiting }.map(move |chunk| {
        counters.snapshots.sent(chunk.len());
        message(chunk)
    });
    let ended = sending.stop.child_token();
    let _chunks_end = ended.clone().drop_guard();
    let opening = stream::once(std::future::ready(message(Bytes::new())));
    let outgoing = Outgoing::new(opening.chain(chunks), ended);
    tokio::select! {
        biased;
        reply = client.snapshot(outgoing) => {
            let reply = reply.map_err(|status| from_status(group_id, &status))?.into_inner().reply;
            sending.counters.snapshots.received(reply.len());
            Ok(reply)
        }
        () = sending.stop.cancelled() => {
            Err(TransportError::Unreachable("the transport is closed".to_owned()))
        }
        () = stalled(seen, sending.chunk_timeout) => Err(TransportError::TimedOut),
    }
}
