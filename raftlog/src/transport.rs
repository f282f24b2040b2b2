//! Messages between replicas, as a trait that a network implements.
//!
//! Requests and replies are opaque bytes in this crate's own protobuf encoding, so that a network carries them
//! without knowing Raft. What arrives is handed to [`Engine::receive_call`](crate::Engine::receive_call),
//! [`Engine::receive_append_stream`](crate::Engine::receive_append_stream) or
//! [`Engine::receive_snapshot`](crate::Engine::receive_snapshot) of the target, and its answer travels back. A network
//! may lose, delay and repeat messages, but keeps the order inside one stream.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::errors::TransportError;
use crate::ids::{GroupId, NodeId};

/// A request with one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// A candidate asks for a vote.
    Vote,
    /// A node asks whether it would get a vote, before it becomes a candidate.
    PreVote,
    /// The leader asks another replica to take over.
    TransferLeader,
    /// A leader's heartbeat. Those of all groups between two nodes may travel together.
    Heartbeat,
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Destination {
    /// The replica. A network delivers to its process ([`process_of`](crate::process_of)); the request itself says which
    /// replica is meant, and the engine there refuses what is for another one.
    pub node_id: NodeId,
    /// The group on it.
    pub group_id: GroupId,
}

/// The replies of one append stream, in the order of its requests.
pub type ReplyStream = BoxStream<'static, Result<Bytes, TransportError>>;

/// A network between the replicas of all groups.
pub trait Transport: Send + Sync + 'static {
    /// Sends one small request and waits for its reply, at most `timeout`.
    fn call(
        &self,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>>;

    /// Opens a stream of appends: one request a message, one reply each, in order, many under way at once. The stream
    /// ends when `requests` ends or the connection breaks, and is given up by its user when a reply takes longer than
    /// `idle_timeout`, which bounds the set-up too.
    fn append_stream(
        &self,
        to: Destination,
        requests: BoxStream<'static, Bytes>,
        idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>>;

    /// Sends a snapshot in chunks and waits until the target has installed it. An error among the chunks, or the end
    /// of the stream before the last chunk, means that the sender gave up: the target drops what it has.
    fn snapshot(
        &self,
        to: Destination,
        chunks: BoxStream<'static, Bytes>,
        chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>>;
}

/// The transport of a node whose groups have no other replica: nobody can be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTransport;

impl NoTransport {
    fn refuse<T: Send + 'static>(to: Destination) -> BoxFuture<'static, Result<T, TransportError>> {
        let reason = format!("node {}: no transport is configured", to.node_id);
        Box::pin(async move { Err(TransportError::Unreachable(reason)) })
    }
}

impl Transport for NoTransport {
    fn call(
        &self,
        to: Destination,
        _kind: CallKind,
        _request: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        Self::refuse(to)
    }

    fn append_stream(
        &self,
        to: Destination,
        _requests: BoxStream<'static, Bytes>,
        _idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>> {
        Self::refuse(to)
    }

    fn snapshot(
        &self,
        to: Destination,
        _chunks: BoxStream<'static, Bytes>,
        _chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        Self::refuse(to)
    }
}
