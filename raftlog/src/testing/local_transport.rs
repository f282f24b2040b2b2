//! A network inside one process, whose links can be cut.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use parking_lot::Mutex;

use crate::engine::Engine;
use crate::errors::TransportError;
use crate::ids::NodeId;
use crate::transport::{CallKind, Destination, ReplyStream, Transport};

#[derive(Default)]
struct Links {
    nodes: HashMap<NodeId, Weak<Engine>>,
    cut: HashSet<(NodeId, NodeId)>,
}

/// All nodes of a process.
#[derive(Clone, Default)]
pub struct LocalNetwork {
    links: Arc<Mutex<Links>>,
}

impl LocalNetwork {
    /// The transport of one node.
    pub fn transport(&self, node_id: NodeId) -> Arc<LocalTransport> {
        Arc::new(LocalTransport {
            from: node_id,
            network: self.clone(),
        })
    }

    /// Makes a node reachable. One that is dropped is so no longer.
    pub fn attach(&self, engine: &Arc<Engine>) {
        self.links
            .lock()
            .nodes
            .insert(engine.options().node_id, Arc::downgrade(engine));
    }

    /// Cuts a node from all others, in both directions.
    pub fn isolate(&self, node_id: NodeId) {
        let mut links = self.links.lock();
        let others: Vec<_> = links
            .nodes
            .keys()
            .copied()
            .filter(|other| *other != node_id)
            .collect();
        links.cut.extend(
            others
                .iter()
                .flat_map(|other| [(node_id, *other), (*other, node_id)]),
        );
    }

    /// Mends all links.
    pub fn heal(&self) {
        self.links.lock().cut.clear();
    }

    fn reach(&self, from: NodeId, to: NodeId) -> Result<Arc<Engine>, TransportError> {
        let links = self.links.lock();
        let node = links
            .nodes
            .get(&to)
            .filter(|_| !links.cut.contains(&(from, to)));
        node.and_then(Weak::upgrade)
            .ok_or_else(|| TransportError::Unreachable(format!("node {to}")))
    }

    fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        let links = self.links.lock();
        links.cut.contains(&(from, to))
            || links
                .nodes
                .get(&to)
                .is_none_or(|node| node.strong_count() == 0)
    }
}

/// One node's end of a [`LocalNetwork`].
pub struct LocalTransport {
    from: NodeId,
    network: LocalNetwork,
}

impl Transport for LocalTransport {
    fn call(
        &self,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (network, from) = (self.network.clone(), self.from);
        Box::pin(async move {
            let engine = network.reach(from, to.node_id)?;
            let reply = engine.receive_call(to.group_id, kind, &request);
            let reply = tokio::time::timeout(timeout, reply)
                .await
                .map_err(|_| TransportError::TimedOut)?;
            network.reach(to.node_id, from)?;
            reply
        })
    }

    fn append_stream(
        &self,
        to: Destination,
        requests: BoxStream<'static, Bytes>,
        _idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>> {
        let (network, from) = (self.network.clone(), self.from);
        Box::pin(async move {
            let engine = network.reach(from, to.node_id)?;
            let (there, back) = (network.clone(), network);
            let requests =
                requests.take_while(move |_| std::future::ready(!there.is_cut(from, to.node_id)));
            let replies = engine.receive_append_stream(to.group_id, requests.boxed())?;
            let lost = |node| Err(TransportError::Unreachable(format!("node {node}")));
            let replies = replies.map(move |reply| {
                if back.is_cut(to.node_id, from) {
                    lost(to.node_id)
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
        _chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (network, from) = (self.network.clone(), self.from);
        Box::pin(async move {
            let engine = network.reach(from, to.node_id)?;
            let there = network.clone();
            let chunks =
                chunks.take_while(move |_| std::future::ready(!there.is_cut(from, to.node_id)));
            engine.receive_snapshot(to.group_id, chunks.boxed()).await
        })
    }
}
