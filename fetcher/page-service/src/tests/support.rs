//! Stores that are served, captures, and waiting for what happens elsewhere.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use page_store::{Capture, PageStore, StoreOptions};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::proxy::Proxy;
use crate::{
    ClientOptions, ClusterOptions, ClusterStore, FixedStores, ServiceOptions, StoreClient,
    service_with,
};

/// A store, its service, and a proxy before it, through which all calls go.
pub(super) struct Served {
    pub(super) store_id: u32,
    pub(super) store: Arc<PageStore>,
    pub(super) proxy: Proxy,
    stop: CancellationToken,
}

impl Served {
    pub(super) async fn new(dir: &Path, store_id: u32) -> Self {
        Self::with(StoreOptions::new(dir), store_id, ServiceOptions::default()).await
    }

    pub(super) async fn with(
        options: StoreOptions,
        store_id: u32,
        service: ServiceOptions,
    ) -> Self {
        let store = Arc::new(PageStore::open(options).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behind: SocketAddr = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = Server::builder()
            .add_service(service_with(Arc::clone(&store), store_id, service))
            .serve_with_incoming_shutdown(
                TcpIncoming::from(listener).with_nodelay(Some(true)),
                stop.clone().cancelled_owned(),
            );
        tokio::spawn(serving);
        let proxy = Proxy::start(behind).await;
        Self {
            store_id,
            store,
            proxy,
            stop,
        }
    }

    pub(super) fn address(&self) -> String {
        self.proxy.address().to_string()
    }

    pub(super) fn client(&self) -> StoreClient {
        StoreClient::new(self.store_id, &self.address(), patient().client).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Temporary directories and as many stores, with ids 1, 2, 3 ...
pub(super) struct Stores {
    pub(super) served: Vec<Served>,
    pub(super) dirs: Vec<tempfile::TempDir>,
}

impl Stores {
    pub(super) async fn new(count: u32) -> Self {
        let (mut served, mut dirs) = (Vec::new(), Vec::new());
        for store_id in 1..=count {
            let dir = tempfile::tempdir().unwrap();
            served.push(Served::new(dir.path(), store_id).await);
            dirs.push(dir);
        }
        Self { served, dirs }
    }

    pub(super) fn get(&self, store_id: u32) -> &Served {
        &self.served[store_id as usize - 1]
    }

    pub(super) fn cluster(&self, copies: usize) -> ClusterStore {
        let list = self.served.iter();
        let list = list.map(|served| (served.store_id, served.address()));
        cluster_of(list.collect(), copies)
    }

    /// Payloads stored, over all stores.
    pub(super) fn payloads(&self) -> u64 {
        self.served
            .iter()
            .map(|served| served.store.stats().payloads)
            .sum()
    }
}

pub(super) fn cluster_of(list: Vec<(u32, String)>, copies: usize) -> ClusterStore {
    ClusterStore::with_options(Arc::new(FixedStores(list)), copies, patient())
}

/// Times that suit a test on a busy machine: only who is really silent is late.
pub(super) fn patient() -> ClusterOptions {
    ClusterOptions {
        client: ClientOptions {
            answer_timeout_ms: 30_000,
            part_timeout_ms: 30_000,
            ..ClientOptions::default()
        },
        back_off_ms: (20, 100),
        probe_timeout_ms: 2_000,
    }
}

pub(super) fn capture(url: &str, payload: impl Into<Bytes>) -> Capture {
    Capture {
        url: url.to_owned(),
        captured_at_unix_ms: 1_790_000_000_123,
        protocol: "http/1.1".to_owned(),
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![("Content-Type".to_owned(), b"text/html".to_vec())],
        peer_addr: Some("192.0.2.7:80".parse().unwrap()),
        payload: payload.into(),
        truncated: None,
    }
}

/// Bytes that differ for each seed and do not compress.
pub(super) fn noise(seed: u64, size_bytes: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes = (0..size_bytes).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.collect()
}

/// Waits until it is so; the test's own time limit ends it otherwise.
pub(super) async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    while !is_so().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
