//! A network may repeat messages.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::{self, BoxStream};
use proto::raft_v1 as pb;
use proto::raft_v1::heartbeat_reply::Outcome;
use proto::raft_v1::raft_client::RaftClient;
use proto::raft_v1::raft_server::{Raft, RaftServer};
use raftlog::{CallKind, Destination, Transport};
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};

use super::stand_in::StandIn;
use super::support::{Book, CLUSTER, PATIENCE, Serving, listener, soon, transport};
use crate::envelope::Identity;
use crate::incoming;

/// A receiver whose network says everything twice, and once under an id that nobody asked by; the second answer differs.
struct Stammerer;

fn reply(id: u64, bytes: Bytes) -> pb::HeartbeatReply {
    pb::HeartbeatReply {
        id,
        outcome: Some(Outcome::Reply(bytes)),
    }
}

fn stammer(message: pb::LinkRequest) -> pb::LinkReply {
    let replies = message.heartbeats.into_iter().flat_map(|beat| {
        [
            reply(beat.id + 1_000_000, Bytes::from_static(b"nobody's")),
            reply(beat.id, beat.request),
            reply(beat.id, Bytes::from_static(b"again")),
        ]
    });
    let pong = message.ping.map(|ping| pb::Pong {
        id: ping.id,
        wall_unix_ms: ping.wall_unix_ms,
    });
    pb::LinkReply {
        replies: replies.collect(),
        pong,
    }
}

fn not_here<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("links only"))
}

#[tonic::async_trait]
impl Raft for Stammerer {
    async fn call(&self, _: Request<pb::CallRequest>) -> Result<Response<pb::CallReply>, Status> {
        not_here()
    }

    type LinkStream = BoxStream<'static, Result<pb::LinkReply, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<pb::LinkRequest>>,
    ) -> Result<Response<Self::LinkStream>, Status> {
        let replies = request.into_inner().flat_map(|message| {
            let twice = message.map(stammer).map(|reply| [reply.clone(), reply]);
            let said: Vec<_> = match twice {
                Ok(replies) => replies.into_iter().map(Ok).collect(),
                Err(status) => vec![Err(status)],
            };
            stream::iter(said)
        });
        Ok(Response::new(replies.boxed()))
    }

    type AppendStream = BoxStream<'static, Result<pb::AppendReply, Status>>;

    async fn append(
        &self,
        _: Request<Streaming<pb::AppendRequest>>,
    ) -> Result<Response<Self::AppendStream>, Status> {
        not_here()
    }

    async fn snapshot(
        &self,
        _: Request<Streaming<pb::SnapshotRequest>>,
    ) -> Result<Response<pb::SnapshotReply>, Status> {
        not_here()
    }
}

#[tokio::test]
async fn a_repeated_answer_is_taken_once_and_by_who_asked() {
    let (socket, address) = listener().await;
    let serving = tokio::spawn(
        Server::builder()
            .add_service(RaftServer::new(Stammerer))
            .serve_with_incoming(incoming(socket)),
    );
    let sender = transport(1, Book::of(&[(2, address)]));
    for round in 0..3 {
        let answers = (0..20).map(|group_id| {
            let to = Destination {
                node_id: 2,
                group_id,
            };
            let request = Bytes::from(format!("{round} of {group_id}"));
            sender.call(to, CallKind::Heartbeat, request, PATIENCE)
        });
        let answers = soon("all answers", join_all(answers)).await;
        for (group_id, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.unwrap(), format!("{round} of {group_id}"));
        }
    }
    let metrics = sender.metrics();
    assert_eq!(metrics.heartbeats.received, 60, "repetitions do not count");
    assert!(metrics.pings.received <= metrics.pings.sent);
    assert_eq!(metrics.redials, 0);
    serving.abort();
}

#[tokio::test]
async fn a_repeated_heartbeat_is_answered_again() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let _serving = Serving::stand_in(socket, 2, &inbox);
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = RaftClient::new(endpoint.connect().await.unwrap());
    let here = Identity {
        cluster_id: CLUSTER,
        me: 1,
    };
    let message = pb::LinkRequest {
        envelope: Some(here.to(2)),
        heartbeats: vec![pb::Heartbeat {
            id: 7,
            group: 5,
            timeout_ms: 60_000,
            request: Bytes::from_static(b"beat"),
        }],
        ping: None,
    };
    let messages = stream::iter([message.clone(), message]).chain(stream::pending());
    let mut inbound = client.link(messages).await.unwrap().into_inner();
    let mut replies = Vec::new();
    while replies.len() < 2 {
        let message = soon("a reply", inbound.message()).await.unwrap().unwrap();
        replies.extend(message.replies);
    }
    let expected = reply(7, Bytes::from_static(b"beat"));
    assert_eq!(replies, [expected.clone(), expected]);
    assert_eq!(inbox.calls.lock().len(), 2);
}
