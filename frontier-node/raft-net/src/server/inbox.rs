//! Where messages go that have arrived.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::stream::BoxStream;
use raftlog::{CallKind, Engine, GroupId, ReplyStream, TransportError};

/// Takes what arrives: a node's engine, or a stand-in in tests.
#[async_trait::async_trait]
pub(crate) trait Inbox: Send + Sync + 'static {
    /// One request with one reply.
    async fn call(
        &self,
        group_id: GroupId,
        kind: CallKind,
        request: &[u8],
    ) -> Result<Bytes, TransportError>;

    /// A stream of appends.
    fn append_stream(
        &self,
        group_id: GroupId,
        requests: BoxStream<'static, Bytes>,
    ) -> Result<ReplyStream, TransportError>;

    /// A snapshot.
    async fn snapshot(
        &self,
        group_id: GroupId,
        chunks: BoxStream<'static, Bytes>,
    ) -> Result<Bytes, TransportError>;
}

/// The engine, which may not be open yet: its node opens it with the transport that needs this service on the others.
type EngineCell = OnceLock<Arc<Engine>>;

fn open(cell: &EngineCell) -> Result<&Arc<Engine>, TransportError> {
    cell.get()
        .ok_or_else(|| TransportError::Unreachable("the replica is starting".to_owned()))
}

#[async_trait::async_trait]
impl Inbox for Arc<EngineCell> {
    async fn call(
        &self,
        group_id: GroupId,
        kind: CallKind,
        request: &[u8],
    ) -> Result<Bytes, TransportError> {
        open(self)?.receive_call(group_id, kind, request).await
    }

    fn append_stream(
        &self,
        group_id: GroupId,
        requests: BoxStream<'static, Bytes>,
    ) -> Result<ReplyStream, TransportError> {
        open(self)?.receive_append_stream(group_id, requests)
    }

    async fn snapshot(
        &self,
        group_id: GroupId,
        chunks: BoxStream<'static, Bytes>,
    ) -> Result<Bytes, TransportError> {
        open(self)?.receive_snapshot(group_id, chunks).await
    }
}
