//! Replicas and the processes they live in: a process is what is dialled, whichever of its replicas is meant.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use raftlog::{CallKind, Destination, Transport, TransportError};

use super::stand_in::{LAST, StandIn};
use super::support::{Book, PATIENCE, Serving, listener, soon, transport};

/// A replica of node 2's process that came back to group 5 for the third time.
const RETURNED: Destination = Destination {
    node_id: (3 << 16) | 2,
    group_id: 5,
};

#[tokio::test]
async fn a_replica_that_came_back_is_reached_at_its_process() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let request = Bytes::from_static(b"request");
    for kind in [CallKind::Vote, CallKind::Heartbeat] {
        let answer = sender.call(RETURNED, kind, request.clone(), PATIENCE);
        assert_eq!(soon("an answer", answer).await, Ok(request.clone()));
    }
    assert_eq!(
        *inbox.calls.lock(),
        [(5, CallKind::Vote), (5, CallKind::Heartbeat)]
    );
    let requests = stream::iter([request.clone()]).boxed();
    let opened = sender.append_stream(RETURNED, requests, PATIENCE);
    let replies = soon("the stream opens", opened).await.unwrap();
    let replies: Vec<_> = soon("all replies", replies.collect()).await;
    assert_eq!(replies, [Ok(request)]);
    let chunks = stream::iter([Bytes::from_static(LAST)]).boxed();
    let sent = sender.snapshot(RETURNED, chunks, PATIENCE);
    soon("the transfer ends", sent).await.unwrap();
    assert_eq!(sender.open_links(), 1, "there is one peer");
}

/// A replica of another disk is another process: nothing is known of it.
#[tokio::test]
async fn a_replica_of_another_disk_is_not_reached() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let other_disk = Destination {
        node_id: (1 << 32) | 2,
        group_id: 5,
    };
    let answer = sender.call(other_disk, CallKind::Vote, Bytes::new(), PATIENCE);
    let answer = soon("an answer", answer).await;
    assert!(
        matches!(answer, Err(TransportError::Unreachable(_))),
        "{answer:?}"
    );
    assert!(inbox.calls.lock().is_empty());
}
