//! Heartbeats: together on the way, each for itself in its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use raftlog::{CallKind, Destination, Transport, TransportError};

use super::proxy::Proxy;
use super::stand_in::{BROKEN, MISSING, STUCK, StandIn};
use super::support::{Book, PATIENCE, Serving, listener, soon, transport, until};
use crate::NetTransport;
use crate::limits::MAX_CALL_BYTES;

async fn beat(
    sender: &NetTransport,
    group_id: u64,
    timeout: Duration,
) -> Result<Bytes, TransportError> {
    let to = Destination {
        node_id: 2,
        group_id,
    };
    let request = Bytes::from(format!("beat of {group_id}"));
    let answered = sender.call(to, CallKind::Heartbeat, request, timeout);
    soon("an outcome", answered).await
}

#[tokio::test]
async fn heartbeats_of_the_same_moment_travel_together() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    until("there is a link", || !sender.wall_samples().is_empty()).await;
    let answers = join_all((0..20).map(|group| beat(&sender, group, PATIENCE))).await;
    for (group, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), format!("beat of {group}"));
    }
    let metrics = sender.metrics();
    assert_eq!(metrics.heartbeat_batches, 1);
    assert_eq!(
        (metrics.heartbeats.sent, metrics.heartbeats.received),
        (20, 20)
    );
    assert_eq!(inbox.calls.lock().len(), 20, "each is delivered once");
}

#[tokio::test]
async fn a_group_that_is_slow_or_missing_delays_no_other() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let short = Duration::from_millis(300);
    let stuck = beat(&sender, STUCK, short);
    let others = async {
        for round in 0..10 {
            assert!(beat(&sender, round, PATIENCE).await.is_ok());
        }
        assert_eq!(
            beat(&sender, MISSING, PATIENCE).await,
            Err(TransportError::NoGroup(MISSING))
        );
        let broken = beat(&sender, BROKEN, PATIENCE).await;
        assert_eq!(
            broken,
            Err(TransportError::Remote("it is broken".to_owned()))
        );
    };
    let (stuck, ()) = tokio::join!(stuck, others);
    assert_eq!(stuck, Err(TransportError::TimedOut));
}

/// Each caller waits for as long as it said and no longer, though the peer says nothing at all.
#[tokio::test]
async fn a_silent_peer_costs_each_caller_its_own_timeout() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let proxy = Proxy::to(address).await;
    let sender = transport(1, Book::of(&[(2, proxy.address)]));
    until("there is a link", || !sender.wall_samples().is_empty()).await;
    proxy.silence(true);
    let short = Duration::from_millis(30);
    let answers = join_all((0..50).map(|group| beat(&sender, group, short))).await;
    let timed_out = Err(TransportError::TimedOut);
    assert!(
        answers.iter().all(|answer| *answer == timed_out),
        "{answers:?}"
    );
    // The link breaks in the end; who would wait for longer learns of it then.
    let patient = beat(&sender, 1, PATIENCE).await;
    assert!(
        matches!(patient, Err(TransportError::Unreachable(_))),
        "{patient:?}"
    );
}

#[tokio::test]
async fn without_a_peer_or_an_address_a_heartbeat_fails_at_once() {
    let (socket, address) = listener().await;
    drop(socket);
    let sender = transport(1, Book::of(&[(2, address)]));
    let long = PATIENCE * 10;
    let dead = beat(&sender, 1, long).await;
    assert!(
        matches!(dead, Err(TransportError::Unreachable(_))),
        "{dead:?}"
    );
    let to = Destination {
        node_id: 9,
        group_id: 1,
    };
    let unknown = sender.call(to, CallKind::Heartbeat, Bytes::new(), long);
    let unknown = soon("an outcome", unknown).await;
    assert!(
        matches!(unknown, Err(TransportError::Unreachable(_))),
        "{unknown:?}"
    );
    let to = Destination {
        node_id: 2,
        group_id: 1,
    };
    let large = Bytes::from(vec![0; MAX_CALL_BYTES + 1]);
    let large = sender.call(to, CallKind::Heartbeat, large, long).await;
    assert!(
        matches!(large, Err(TransportError::Malformed(_))),
        "{large:?}"
    );
}
