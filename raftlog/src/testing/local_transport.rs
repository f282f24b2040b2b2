//! One node's end of a network inside one process.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::local_network::{Carried, LocalNetwork};
use super::message::{Message, MessageKind};
use crate::errors::TransportError;
use crate::ids::{NodeId, process_of};
use crate::transport::{CallKind, Destination, ReplyStream, Transport};

/// One node's end of a [`LocalNetwork`].
pub struct LocalTransport {
    from: NodeId,
    network: LocalNetwork,
}

impl LocalTransport {
    pub(super) fn new(from: NodeId, network: LocalNetwork) -> Self {
        Self { from, network }
    }

    fn message(&self, to: Destination, kind: MessageKind) -> Message {
        Message {
            from: self.from,
            to: process_of(to.node_id),
            group_id: to.group_id,
            kind,
            place: 0,
        }
    }
}

/// Carries a stream's messages in order, until one is lost. A message that takes longer than `patience` is.
fn carry_all(
    network: LocalNetwork,
    first: Message,
    messages: BoxStream<'static, Bytes>,
    patience: Option<Duration>,
) -> BoxStream<'static, Bytes> {
    let state = (network, first, messages);
    let carried =
        futures::stream::unfold(state, move |(network, message, mut messages)| async move {
            let bytes = messages.next().await?;
            let next = Message {
                place: message.place + 1,
                ..message
            };
            let carrying = network.carry(message, bytes);
            let carried = match patience {
                Some(patience) => tokio::time::timeout(patience, carrying)
                    .await
                    .unwrap_or(Carried::Lost),
                None => carrying.await,
            };
            match carried {
                Carried::Arrived(bytes) => Some((Some(bytes), (network, next, messages))),
                Carried::Skipped => Some((None, (network, next, messages))),
                Carried::Lost => None,
            }
        });
    carried.filter_map(std::future::ready).boxed()
}

impl Transport for LocalTransport {
    fn call(
        &self,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (network, from, node) = (self.network.clone(), self.from, process_of(to.node_id));
        let message = self.message(to, MessageKind::Call(kind));
        let calling = async move {
            let engine = network.reach(from, node)?;
            let Carried::Arrived(request) = network.carry(message, request).await else {
                return Err(TransportError::Unreachable(format!("node {node}")));
            };
            let reply = engine.receive_call(to.group_id, kind, &request).await;
            network.reach(node, from)?;
            reply
        };
        Box::pin(async move {
            tokio::time::timeout(timeout, calling)
                .await
                .unwrap_or(Err(TransportError::TimedOut))
        })
    }

    fn append_stream(
        &self,
        to: Destination,
        requests: BoxStream<'static, Bytes>,
        _idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>> {
        let (network, from, node) = (self.network.clone(), self.from, process_of(to.node_id));
        let first = self.message(to, MessageKind::Append);
        Box::pin(async move {
            let engine = network.reach(from, node)?;
            let requests = carry_all(network.clone(), first, requests, None);
            let replies = engine.receive_append_stream(to.group_id, requests)?;
            let lost = |node| Err(TransportError::Unreachable(format!("node {node}")));
            let replies = replies.map(move |reply| {
                if network.is_cut(node, from) {
                    lost(node)
                } else {
                    reply
                }
            });
            Ok(replies.boxed())
        })
    }

    fn snapshot(
        &self,
        to: Destination,
        chunks: BoxStream<'static, Bytes>,
        chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (network, from, node) = (self.network.clone(), self.from, process_of(to.node_id));
        let first = self.message(to, MessageKind::Chunk);
        Box::pin(async move {
            let engine = network.reach(from, node)?;
            let chunks = carry_all(network, first, chunks, Some(chunk_timeout));
            engine.receive_snapshot(to.group_id, chunks).await
        })
    }
}
