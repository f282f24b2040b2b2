//! Snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use raftlog::{Destination, Transport, TransportError};

use super::stand_in::{LAST, MISSING, MUTE, STUCK, StandIn};
use super::support::{Book, PATIENCE, Serving, listener, soon, transport, until};
use crate::NetTransport;
use crate::limits::{MAX_CHUNK_BYTES, STREAM_WINDOW_BYTES};

async fn send(
    sender: &NetTransport,
    group_id: u64,
    chunks: BoxStream<'static, Bytes>,
    chunk_timeout: Duration,
) -> Result<Bytes, TransportError> {
    let to = Destination {
        node_id: 2,
        group_id,
    };
    soon(
        "the transfer ends",
        sender.snapshot(to, chunks, chunk_timeout),
    )
    .await
}

fn chunks(count: usize, size_bytes: usize) -> impl futures::Stream<Item = Bytes> + Send + 'static {
    stream::iter(vec![Bytes::from(vec![5; size_bytes]); count])
}

fn last() -> impl futures::Stream<Item = Bytes> + Send + 'static {
    stream::iter([Bytes::from_static(LAST)])
}

// case L25
#[tokio::test]
async fn a_whole_snapshot_is_installed_and_one_that_breaks_off_is_not() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let whole = chunks(30, 1_000_000).chain(last()).boxed();
    assert_eq!(
        send(&sender, MUTE, whole, PATIENCE).await.unwrap(),
        "installed"
    );
    assert_eq!(inbox.chunks.load(Ordering::SeqCst), 31);
    let broken_off = send(&sender, 5, chunks(3, 1_000).boxed(), PATIENCE).await;
    assert!(
        matches!(broken_off, Err(TransportError::Malformed(_))),
        "{broken_off:?}"
    );
    let missing = send(&sender, MISSING, chunks(3, 1_000).boxed(), PATIENCE).await;
    assert_eq!(missing, Err(TransportError::NoGroup(MISSING)));
    assert_eq!(inbox.installed.load(Ordering::SeqCst), 1);
    assert_eq!(inbox.broken_off.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_largest_chunk_passes_and_more_is_refused() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let largest = chunks(1, MAX_CHUNK_BYTES).chain(last()).boxed();
    assert!(send(&sender, 5, largest, PATIENCE).await.is_ok());
    let refused = send(&sender, 5, chunks(1, MAX_CHUNK_BYTES + 1).boxed(), PATIENCE).await;
    assert!(
        matches!(refused, Err(TransportError::Malformed(_))),
        "{refused:?}"
    );
}

/// A target that takes nothing is given up after `chunk_timeout`, having been sent no more than fits its window; a source
/// that reads slowly is waited for.
// case L11
#[tokio::test]
async fn a_stalled_target_is_given_up_and_a_slow_source_is_not() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let short = Duration::from_millis(500);
    let endless = stream::repeat(Bytes::from(vec![5; 256 * 1024])).boxed();
    let stalled = send(&sender, STUCK, endless, short).await;
    assert_eq!(stalled, Err(TransportError::TimedOut));
    let sent = sender.metrics().snapshots.sent_bytes;
    let bound = u64::from(STREAM_WINDOW_BYTES) + 4 * 256 * 1024;
    assert!(sent <= bound, "{sent} bytes");
    until("the target has let go", || {
        inbox.open.load(Ordering::SeqCst) == 0
    })
    .await;
    let slow = stream::once(async move {
        tokio::time::sleep(short * 2).await;
        Bytes::from_static(LAST)
    });
    assert!(send(&sender, 5, slow.boxed(), short).await.is_ok());
}

/// Whoever gives up a transfer has only to drop it.
// case L11
#[tokio::test]
async fn dropping_a_transfer_ends_it_on_both_sides() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let endless = chunks(3, 1_000).chain(stream::pending()).boxed();
    let transfer = send(&sender, 5, endless, PATIENCE);
    let mut transfer = Box::pin(transfer);
    let arrived = until("it is under way", || {
        inbox.chunks.load(Ordering::SeqCst) == 3
    });
    tokio::select! {
        outcome = &mut transfer => panic!("{outcome:?}"),
        () = arrived => {}
    }
    drop(transfer);
    until("the target has let go", || {
        inbox.open.load(Ordering::SeqCst) == 0
    })
    .await;
    assert_eq!(inbox.installed.load(Ordering::SeqCst), 0);
}
