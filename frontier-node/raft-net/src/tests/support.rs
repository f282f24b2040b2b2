//! Set-up that the tests share: addresses, clocks, servers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proto::raft_v1::raft_server::RaftServer;
use raftlog::NodeId;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use super::stand_in::StandIn;
use crate::envelope::Identity;
use crate::server::{Inbox, Receiving, server};
use crate::{AddressBook, NetOptions, NetTransport, RaftService, WallClock, incoming, tuned};

/// The cluster of the tests.
pub(super) const CLUSTER: u64 = 0x00e5_ca9e;

/// Bound on every wait: reached only by a test that fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
pub(super) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Awaits something that must happen.
pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// An address book that tests write in. All replicas in it are peers.
#[derive(Default)]
pub(super) struct Book(Mutex<BTreeMap<NodeId, String>>);

impl Book {
    pub(super) fn of(entries: &[(NodeId, SocketAddr)]) -> Arc<Self> {
        let book = Arc::new(Self::default());
        entries
            .iter()
            .for_each(|(replica, address)| book.put(*replica, *address));
        book
    }

    pub(super) fn put(&self, replica: NodeId, address: SocketAddr) {
        self.0.lock().insert(replica, address.to_string());
    }
}

impl AddressBook for Book {
    fn address(&self, replica: NodeId) -> Option<String> {
        self.0.lock().get(&replica).cloned()
    }

    fn peers(&self) -> Vec<NodeId> {
        self.0.lock().keys().copied().collect()
    }
}

/// A wall clock that stands still.
pub(super) struct StoppedClock(pub(super) u64);

impl WallClock for StoppedClock {
    fn wall_unix_ms(&self) -> u64 {
        self.0
    }
}

/// A transport of replica `me`.
pub(super) fn transport(me: NodeId, book: Arc<Book>) -> Arc<NetTransport> {
    let options = NetOptions {
        connect_timeout_ms: 2_000,
        ping_interval_ms: 50,
        ..NetOptions::new(me, CLUSTER)
    };
    NetTransport::new(options, book, Arc::new(StoppedClock(me * 1_000_000)))
}

/// A listener on a free port.
pub(super) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A listener on a port that was used before.
pub(super) async fn listen_again(address: SocketAddr) -> TcpListener {
    soon("the port is free", async {
        loop {
            if let Ok(listener) = TcpListener::bind(address).await {
                return listener;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

/// A server that runs.
pub(super) struct Serving {
    stop: CancellationToken,
    task: JoinHandle<()>,
    /// A runtime of its own, so that it can die with all its connections.
    runtime: Option<Runtime>,
}

async fn serve(listener: TcpListener, service: RaftServer<RaftService>, stop: CancellationToken) {
    tuned(Server::builder())
        .add_service(service)
        .serve_with_incoming_shutdown(incoming(listener), stop.cancelled_owned())
        .await
        .unwrap();
}

impl Serving {
    /// Serves until it is stopped; `service` has to end its streams at the same token.
    pub(super) fn start(
        listener: TcpListener,
        service: RaftServer<RaftService>,
        stop: CancellationToken,
    ) -> Self {
        let task = tokio::spawn(serve(listener, service, stop.clone()));
        Self {
            stop,
            task,
            runtime: None,
        }
    }

    /// Serves a stand-in as replica `me`.
    pub(super) fn stand_in(listener: TcpListener, me: NodeId, inbox: &Arc<StandIn>) -> Self {
        let stop = CancellationToken::new();
        let inbox: Arc<dyn Inbox> = Arc::clone(inbox) as _;
        let identity = Identity {
            cluster_id: CLUSTER,
            me,
        };
        let service = server(Receiving {
            inbox,
            identity,
            wall: Arc::new(StoppedClock(me * 1_000_000)),
            stop: stop.clone(),
        });
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let listener = listener.into_std().unwrap();
        let until = stop.clone();
        let task = runtime.spawn(async move {
            serve(TcpListener::from_std(listener).unwrap(), service, until).await;
        });
        Self {
            stop,
            task,
            runtime: Some(runtime),
        }
    }

    /// Ends in good order: what is open ends, then the connections.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        soon("the server has ended", &mut self.task).await.unwrap();
    }

    /// Dies: all connections break.
    pub(super) fn die(self) {}
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
