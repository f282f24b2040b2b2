//! Append streams.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use raftlog::{CallKind, Destination, ReplyStream, Transport, TransportError};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::stand_in::{MISSING, MUTE, STUCK};
use super::support::{
    Book, CLUSTER, PATIENCE, Serving, StoppedClock, listener, soon, transport, until,
};
use crate::limits::{MAX_APPEND_BYTES, STREAM_WINDOW_BYTES};
use crate::{NetOptions, NetTransport};

const fn to(group_id: u64) -> Destination {
    Destination {
        node_id: 2,
        group_id,
    }
}

async fn open(
    sender: &NetTransport,
    group_id: u64,
    requests: BoxStream<'static, Bytes>,
    timeout: Duration,
) -> Result<ReplyStream, TransportError> {
    let opened = sender.append_stream(to(group_id), requests, timeout);
    soon("the stream is open or refused", opened).await
}

#[tokio::test]
async fn replies_come_in_order_while_many_requests_are_under_way() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let requests = stream::iter((0..5_000_u32).map(|number| {
        let mut request = number.to_be_bytes().to_vec();
        request.resize(1 + number as usize % 3_000, 7);
        Bytes::from(request)
    }));
    let expected: Vec<Bytes> = requests.clone().collect().await;
    let replies = open(&sender, 5, requests.boxed(), PATIENCE).await.unwrap();
    let replies: Vec<_> = soon("all replies", replies.collect()).await;
    let replies: Vec<Bytes> = replies.into_iter().map(Result::unwrap).collect();
    assert_eq!(replies, expected);
    let appends = sender.metrics().appends;
    assert_eq!((appends.sent, appends.received), (5_000, 5_000));
}

/// Nothing is owed, so nothing times out; then a request is answered as ever.
#[tokio::test]
async fn an_idle_stream_lives_on_and_an_unanswered_one_does_not() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let timeout = Duration::from_millis(200);
    let (requests, queue) = mpsc::channel(4);
    let mut replies = loop {
        // The first set-up dials; on a busy machine it may take longer than this test allows it.
        let silent = open(&sender, 5, stream::pending().boxed(), timeout).await;
        if silent.is_ok() {
            let requests = ReceiverStream::new(queue).boxed();
            break open(&sender, 5, requests, timeout).await.unwrap();
        }
    };
    tokio::time::sleep(timeout).await;
    requests.send(Bytes::from_static(b"late")).await.unwrap();
    assert_eq!(
        soon("a reply", replies.next()).await.unwrap().unwrap(),
        "late"
    );
    let endless = stream::iter([Bytes::from_static(b"well?")]).chain(stream::pending());
    let mut unanswered = open(&sender, MUTE, endless.boxed(), timeout).await.unwrap();
    let outcome = soon("it times out", unanswered.next()).await;
    assert_eq!(outcome, Some(Err(TransportError::TimedOut)));
    assert!(unanswered.next().await.is_none());
}

/// A group that reads nothing fills its own window, and is given up; the others of the same connection go on.
#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_no_other() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let options = NetOptions {
        append_lanes: 1,
        ..NetOptions::new(1, CLUSTER)
    };
    let sender = NetTransport::new(
        options,
        Book::of(&[(2, address)]),
        Arc::new(StoppedClock(0)),
    );
    let block = Bytes::from(vec![1; 64 * 1024]);
    let endless = stream::repeat(block.clone()).boxed();
    let mut stuck = open(&sender, STUCK, endless, Duration::from_secs(3))
        .await
        .unwrap();
    until("the window is full", || {
        sender.metrics().appends.sent_bytes >= u64::from(STREAM_WINDOW_BYTES)
    })
    .await;
    let requests = stream::iter(vec![block; 100]).boxed();
    let replies = open(&sender, 5, requests, PATIENCE).await.unwrap();
    assert_eq!(soon("all replies", replies.count()).await, 100);
    let vote = sender.call(to(6), CallKind::Vote, Bytes::new(), PATIENCE);
    assert!(soon("a vote", vote).await.is_ok());
    // No more was read from the sender than the window holds and one message more.
    let held = sender.metrics().appends.sent_bytes - 100 * 64 * 1024;
    assert!(
        held <= u64::from(STREAM_WINDOW_BYTES) + 4 * 64 * 1024,
        "{held} bytes"
    );
    let outcome = soon("it times out", stuck.next()).await;
    assert_eq!(outcome, Some(Err(TransportError::TimedOut)));
}

#[tokio::test]
async fn the_largest_entry_passes_and_more_is_refused() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let largest = Bytes::from(vec![3; MAX_APPEND_BYTES]);
    let requests = stream::iter([largest.clone(), Bytes::from(vec![3; MAX_APPEND_BYTES + 1])]);
    let mut replies = open(&sender, 5, requests.boxed(), PATIENCE).await.unwrap();
    let reply = soon("a reply", replies.next()).await.unwrap().unwrap();
    assert!(reply == largest, "{} bytes", reply.len());
    let refused = soon("a refusal", replies.next()).await.unwrap();
    assert!(
        matches!(refused, Err(TransportError::Malformed(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn requests_end_with_the_replies_and_with_the_transport() {
    let (socket, address) = listener().await;
    let serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let missing = open(&sender, MISSING, stream::pending().boxed(), PATIENCE).await;
    assert_eq!(missing.err(), Some(TransportError::NoGroup(MISSING)));
    // Dropping the replies frees the requests.
    let (requests, queue) = mpsc::channel::<Bytes>(4);
    let replies = open(&sender, 5, ReceiverStream::new(queue).boxed(), PATIENCE)
        .await
        .unwrap();
    drop(replies);
    soon("the requests are let go", requests.closed()).await;
    // So does a server that stops, and the transport's end.
    let (requests, queue) = mpsc::channel::<Bytes>(4);
    let mut replies = open(&sender, 5, ReceiverStream::new(queue).boxed(), PATIENCE)
        .await
        .unwrap();
    serving.stop().await;
    let outcome = soon("it ends", replies.next()).await;
    assert!(
        matches!(outcome, Some(Err(TransportError::Unreachable(_)))),
        "{outcome:?}"
    );
    soon("the requests are let go", async {
        drop(replies);
        requests.closed().await;
    })
    .await;
    sender.close();
    let late = open(&sender, 5, stream::pending().boxed(), PATIENCE).await;
    assert!(matches!(late, Err(TransportError::Unreachable(_))));
}
