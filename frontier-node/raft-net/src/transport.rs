//! The transport of a node: all its peers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use proto::raft_v1 as pb;
use proto::raft_v1::raft_client::RaftClient;
use raftlog::{CallKind, Destination, NodeId, ReplyStream, Transport, TransportError, process_of};
use tokio::sync::broadcast;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Request;
use tonic::transport::Channel;

use crate::address_book::AddressBook;
use crate::append::{self, Appending};
use crate::envelope::Identity;
use crate::lanes::Lane;
use crate::limits::{BOOK_INTERVAL, MAX_CALL_BYTES, MAX_PEERS, PEER_IDLE, REFUSED_QUEUE};
use crate::link::{self, LinkTask};
use crate::metrics::{Counters, NetMetrics};
use crate::options::NetOptions;
use crate::peer::Peer;
use crate::snapshot::{self, Sending};
use crate::status::from_status;
use crate::wall::{WallClock, WallSample};

/// A node's [`Transport`] over gRPC. One per replica; ends when it is closed or dropped.
pub struct NetTransport {
    shared: Arc<Shared>,
}

struct Shared {
    options: NetOptions,
    book: Arc<dyn AddressBook>,
    wall: Arc<dyn WallClock>,
    counters: Arc<Counters>,
    refused: broadcast::Sender<NodeId>,
    stop: CancellationToken,
    tasks: TaskTracker,
    peers: Mutex<HashMap<NodeId, Arc<Peer>>>,
}

impl NetTransport {
    /// A transport that at once begins to open links to [`AddressBook::peers`]. To be called within a tokio runtime,
    /// which its tasks use.
    pub fn new(
        options: NetOptions,
        book: Arc<dyn AddressBook>,
        wall: Arc<dyn WallClock>,
    ) -> Arc<Self> {
        let shared = Arc::new(Shared {
            options,
            book,
            wall,
            counters: Arc::default(),
            refused: broadcast::channel(REFUSED_QUEUE).0,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            peers: Mutex::default(),
        });
        shared
            .tasks
            .spawn(Arc::clone(&shared).follow_address_book());
        Arc::new(Self { shared })
    }

    /// What the clocks of the peers show now, of each peer that has answered a ping.
    pub fn wall_samples(&self) -> Vec<WallSample> {
        let now = Instant::now();
        let peers = self.shared.peers.lock();
        let samples = peers
            .iter()
            .filter_map(|(replica, peer)| Some(peer.link.sample()?.advanced(*replica, now)));
        samples.collect()
    }

    /// Replicas whose process is dead: their link broke, and then nobody listened at their address, or another replica
    /// did. Each death is told once. A peer that does not answer is not dead.
    pub fn refused(&self) -> broadcast::Receiver<NodeId> {
        self.shared.refused.subscribe()
    }

    /// Whether a link to a replica is open: it answers, or did a moment ago.
    pub fn has_link(&self, replica: NodeId) -> bool {
        let peers = self.shared.peers.lock();
        peers.get(&replica).is_some_and(|peer| peer.link.is_open())
    }

    /// How many links are open.
    pub fn open_links(&self) -> u64 {
        let peers = self.shared.peers.lock();
        peers.values().filter(|peer| peer.link.is_open()).count() as u64
    }

    /// The counters now.
    pub fn metrics(&self) -> NetMetrics {
        self.shared.counters.read()
    }

    /// Ends all links, streams and calls; every later message fails at once.
    pub fn close(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
    }

    /// Waits, after [`close`](Self::close), until all tasks have ended.
    pub async fn closed(&self) {
        self.shared.tasks.wait().await;
    }
}

impl Drop for NetTransport {
    fn drop(&mut self) {
        self.close();
    }
}

fn closed() -> TransportError {
    TransportError::Unreachable("the transport is closed".to_owned())
}

impl Shared {
    const fn identity(&self) -> Identity {
        Identity {
            cluster_id: self.options.cluster_id,
            me: self.options.me,
        }
    }

    /// Keeps a link to every listed peer, and forgets those that are neither listed nor used.
    async fn follow_address_book(self: Arc<Self>) {
        let mut ticks = interval(BOOK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            for listed in self.book.peers() {
                if listed != self.options.me
                    && let Err(error) = self.peer(listed)
                {
                    tracing::warn!(peer = listed, %error, "no link");
                }
            }
            self.peers.lock().retain(|_, peer| peer.idle() < PEER_IDLE);
        }
        self.peers.lock().clear();
    }

    /// The peer, made if it is new.
    fn peer(self: &Arc<Self>, id: NodeId) -> Result<Arc<Peer>, TransportError> {
        let mut peers = self.peers.lock();
        if self.stop.is_cancelled() {
            return Err(closed());
        }
        if let Some(peer) = peers.get(&id) {
            peer.touch();
            return Ok(Arc::clone(peer));
        }
        if peers.len() >= MAX_PEERS {
            return Err(TransportError::Unreachable("too many peers".to_owned()));
        }
        let (handle, end) = link::new();
        let stop = self.stop.child_token();
        let context = link::LinkContext {
            peer: id,
            options: self.options.clone(),
            book: Arc::clone(&self.book),
            wall: Arc::clone(&self.wall),
            counters: Arc::clone(&self.counters),
            refused: self.refused.clone(),
            stop: stop.clone(),
        };
        self.tasks.spawn(LinkTask::new(context, end).run());
        let peer = Arc::new(Peer::new(handle, stop));
        peers.insert(id, Arc::clone(&peer));
        Ok(peer)
    }

    fn client(
        self: &Arc<Self>,
        to: NodeId,
        lane: Lane,
    ) -> Result<RaftClient<Channel>, TransportError> {
        let to = process_of(to);
        let address = self.book.address(to).ok_or_else(|| {
            TransportError::Unreachable(format!("replica {to}: its address is not known"))
        })?;
        let peer = self.peer(to)?;
        Ok(peer
            .lanes
            .client(lane, &address, &self.options, &self.counters))
    }

    async fn call(
        self: Arc<Self>,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        if request.len() > MAX_CALL_BYTES {
            let reason = format!("{} bytes are over the limit", request.len());
            return Err(TransportError::Malformed(reason));
        }
        let kind = match kind {
            CallKind::Vote => pb::CallKind::Vote,
            CallKind::PreVote => pb::CallKind::PreVote,
            CallKind::TransferLeader => pb::CallKind::TransferLeader,
            CallKind::Heartbeat => {
                let peer = self.peer(process_of(to.node_id))?;
                return peer.link.heartbeat(to.group_id, request, timeout).await;
            }
        };
        let mut client = self.client(to.node_id, Lane::Group(to.group_id))?;
        let size_bytes = request.len();
        let mut message = Request::new(pb::CallRequest {
            envelope: Some(self.identity().to(process_of(to.node_id))),
            group: to.group_id,
            kind: kind.into(),
            request,
        });
        // For the other side, so that it does not work for nobody; this side's own clock decides first.
        message.set_timeout(timeout.saturating_mul(2));
        self.counters.calls.sent(size_bytes);
        let reply = tokio::select! {
            reply = tokio::time::timeout(timeout, client.call(message)) => reply,
            () = self.stop.cancelled() => return Err(closed()),
        };
        let reply = reply
            .map_err(|_| TransportError::TimedOut)?
            .map_err(|status| from_status(to.group_id, &status))?
            .into_inner()
            .reply;
        self.counters.calls.received(reply.len());
        Ok(reply)
    }
}

impl Transport for NetTransport {
    fn call(
        &self,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        Box::pin(Arc::clone(&self.shared).call(to, kind, request, timeout))
    }

    fn append_stream(
        &self,
        to: Destination,
        requests: BoxStream<'static, Bytes>,
        idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let client = shared.client(to.node_id, Lane::Group(to.group_id))?;
            let appending = Appending {
                envelope: shared.identity().to(process_of(to.node_id)),
                group_id: to.group_id,
                patience: idle_timeout,
                stop: shared.stop.clone(),
                counters: Arc::clone(&shared.counters),
            };
            append::open(client, appending, requests).await
        })
    }

    fn snapshot(
        &self,
        to: Destination,
        chunks: BoxStream<'static, Bytes>,
        chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let client = shared.client(to.node_id, Lane::Snapshots)?;
            let sending = Sending {
                envelope: shared.identity().to(process_of(to.node_id)),
                group_id: to.group_id,
                chunk_timeout,
                stop: shared.stop.clone(),
                counters: Arc::clone(&shared.counters),
            };
            snapshot::send(client, sending, chunks).await
        })
    }
}
