//! What is not meant for the receiver, and what makes no sense.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use proto::raft_v1 as pb;
use proto::raft_v1::raft_client::RaftClient;
use raftlog::{CallKind, Destination, Transport, TransportError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use super::stand_in::{MISSING, STUCK, StandIn};
use super::support::{Book, CLUSTER, PATIENCE, Serving, StoppedClock, listener, soon, transport};
use crate::envelope::Identity;
use crate::limits::{MAX_BATCH_HEARTBEATS, MAX_CALL_BYTES};
use crate::{NetOptions, NetTransport, service_until};

async fn client(address: std::net::SocketAddr) -> RaftClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    RaftClient::new(endpoint.connect().await.unwrap())
}

fn envelope(cluster_id: u64, target: u64) -> Option<pb::Envelope> {
    Some(Identity { cluster_id, me: 1 }.to(target))
}

#[tokio::test]
async fn messages_for_another_cluster_or_replica_are_refused() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let mut client = client(address).await;
    for (envelope, code) in [
        (envelope(CLUSTER + 1, 2), Code::FailedPrecondition),
        (envelope(CLUSTER, 3), Code::FailedPrecondition),
        (None, Code::InvalidArgument),
    ] {
        let call = pb::CallRequest {
            envelope,
            group: 5,
            kind: pb::CallKind::Vote.into(),
            request: Bytes::new(),
        };
        assert_eq!(client.call(call).await.unwrap_err().code(), code);
        let ping = pb::LinkRequest {
            envelope,
            ..pb::LinkRequest::default()
        };
        let link = client.link(stream::iter([ping])).await;
        assert_eq!(link.unwrap_err().code(), code);
        let append = pb::AppendRequest {
            envelope,
            ..pb::AppendRequest::default()
        };
        let appends = client.append(stream::iter([append])).await;
        assert_eq!(appends.unwrap_err().code(), code);
        let chunk = pb::SnapshotRequest {
            envelope,
            ..pb::SnapshotRequest::default()
        };
        let snapshot = client.snapshot(stream::iter([chunk])).await;
        assert_eq!(snapshot.unwrap_err().code(), code);
    }
    assert!(inbox.calls.lock().is_empty());
}

/// The same, as a sender sees it: an address that is another replica's, and a transport of another cluster.
#[tokio::test]
async fn a_sender_learns_that_a_stranger_answers() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let strangers = [
        (transport(1, Book::of(&[(3, address)])), 3),
        (
            NetTransport::new(
                NetOptions::new(1, CLUSTER + 1),
                Book::of(&[(2, address)]),
                Arc::new(StoppedClock(0)),
            ),
            2,
        ),
    ];
    for (sender, node_id) in strangers {
        let to = Destination {
            node_id,
            group_id: 5,
        };
        let vote = sender.call(to, CallKind::Vote, Bytes::new(), PATIENCE);
        let vote = soon("an outcome", vote).await;
        assert!(matches!(vote, Err(TransportError::Remote(_))), "{vote:?}");
        let beat = sender.call(to, CallKind::Heartbeat, Bytes::new(), PATIENCE);
        let beat = soon("an outcome", beat).await;
        assert!(
            matches!(beat, Err(TransportError::Unreachable(_))),
            "{beat:?}"
        );
        assert!(sender.wall_samples().is_empty());
    }
}

#[tokio::test]
async fn calls_are_answered_refused_and_bounded() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let sender = transport(1, Book::of(&[(2, address)]));
    let call = |group_id, kind, timeout| {
        let to = Destination {
            node_id: 2,
            group_id,
        };
        sender.call(to, kind, Bytes::from_static(b"?"), timeout)
    };
    let kinds = [
        CallKind::Vote,
        CallKind::PreVote,
        CallKind::TransferLeader,
        CallKind::Heartbeat,
    ];
    for kind in kinds {
        assert_eq!(soon("a reply", call(5, kind, PATIENCE)).await.unwrap(), "?");
        let missing = soon("a reply", call(MISSING, kind, PATIENCE)).await;
        assert_eq!(missing, Err(TransportError::NoGroup(MISSING)));
        let stuck = call(STUCK, kind, Duration::from_millis(100));
        let stuck = soon("its timeout", stuck).await;
        assert_eq!(stuck, Err(TransportError::TimedOut));
    }
    let arrived: Vec<_> = inbox.calls.lock().iter().map(|(_, kind)| *kind).collect();
    let expected: Vec<_> = kinds.iter().flat_map(|kind| [*kind; 3]).collect();
    assert_eq!(arrived, expected);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_harms_nobody() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let mut client = client(address).await;
    let call = |kind: i32, size_bytes: usize| pb::CallRequest {
        envelope: envelope(CLUSTER, 2),
        group: 5,
        kind,
        request: Bytes::from(vec![0; size_bytes]),
    };
    for bad in [call(0, 1), call(77, 1), call(1, MAX_CALL_BYTES + 1)] {
        let refused = client.call(bad).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
    let empty = client.append(stream::empty()).await.unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
    let ping = |heartbeats| pb::LinkRequest {
        envelope: envelope(CLUSTER, 2),
        heartbeats,
        ping: None,
    };
    let many = vec![pb::Heartbeat::default(); MAX_BATCH_HEARTBEATS + 1];
    let link = client.link(stream::iter([ping(vec![]), ping(many)])).await;
    let mut replies = link.unwrap().into_inner();
    assert_eq!(
        replies.message().await.unwrap_err().code(),
        Code::InvalidArgument
    );
    // A stream may not change its group.
    let append = |group, request: &'static [u8]| pb::AppendRequest {
        envelope: envelope(CLUSTER, 2),
        group,
        request: Bytes::from_static(request),
    };
    let requests = [append(5, b""), append(5, b"one"), append(6, b"two")];
    let appends = client.append(stream::iter(requests)).await;
    let replies: Vec<_> = appends.unwrap().into_inner().collect().await;
    assert_eq!(replies[0].as_ref().unwrap().reply, "one");
    assert_eq!(
        replies[1].as_ref().unwrap_err().code(),
        Code::InvalidArgument
    );
    // Bytes that are no HTTP at all.
    for garbage in [
        &b"\x16\x03\x01\x02\x00"[..],
        &[0xff; 4096],
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _reset = soon("it hangs up", stream.read_to_end(&mut answer)).await;
    }
    let good = client.call(call(1, 1)).await.unwrap().into_inner();
    assert_eq!(good.reply.len(), 1);
}

/// A node opens its engine after it listens, so others may come too early.
#[tokio::test]
async fn a_replica_without_an_engine_says_that_it_is_starting() {
    let (socket, address) = listener().await;
    let stop = CancellationToken::new();
    let wall = Arc::new(StoppedClock(7));
    let service = service_until(Arc::new(OnceLock::new()), 2, CLUSTER, wall, stop.clone());
    let _serving = Serving::start(socket, service, stop);
    let sender = transport(1, Book::of(&[(2, address)]));
    let to = Destination {
        node_id: 2,
        group_id: 5,
    };
    for kind in [CallKind::Vote, CallKind::Heartbeat] {
        let early = soon("an outcome", sender.call(to, kind, Bytes::new(), PATIENCE)).await;
        assert!(
            matches!(&early, Err(TransportError::Unreachable(reason)) if reason.contains("starting")),
            "{early:?}"
        );
    }
    let stream = sender.append_stream(to, stream::pending().boxed(), PATIENCE);
    let early = soon("an outcome", stream).await.err();
    assert!(matches!(early, Some(TransportError::Unreachable(_))));
}
