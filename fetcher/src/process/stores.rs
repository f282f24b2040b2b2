//! The page stores: a role of the cluster's nodes, so the frontier says where they are. Leasing pauses while fewer of them
//! answer than a page has copies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::Router;
use page_service::{ClusterStore, StoreDirectory};
use page_store::{Capture, UnmodifiedCapture};
use parking_lot::RwLock;

use crate::cluster_pages::ClusterPages;
use crate::limits::STORE_ANSWER_MS;
use crate::pages::{Pages, StoreError, StoredPage};

/// The stores that the cluster's nodes have.
pub(super) struct NodeStores {
    router: Arc<Router>,
    known: RwLock<Vec<(u32, String)>>,
}

impl NodeStores {
    /// Knows none before its first refresh.
    pub(super) fn new(router: Arc<Router>) -> Self {
        Self {
            router,
            known: RwLock::default(),
        }
    }
}

#[async_trait::async_trait]
impl StoreDirectory for NodeStores {
    fn stores(&self) -> Vec<(u32, String)> {
        self.known.read().clone()
    }

    async fn refresh(&self) {
        match self.router.nodes().await {
            Ok(response) => {
                let nodes = response.nodes.into_iter();
                let stores = nodes.filter(|node| node.store_id != 0 && !node.address.is_empty());
                *self.known.write() = stores.map(|node| (node.store_id, node.address)).collect();
            }
            Err(error) => tracing::warn!(%error, "cannot ask for the page stores"),
        }
    }
}

/// The stores of a cluster, and whether enough of them can write.
pub(super) struct WatchedPages {
    directory: Arc<NodeStores>,
    stores: ClusterStore,
    pages: ClusterPages,
    /// Whether it was said that there are too few stores.
    said_few: AtomicBool,
}

impl WatchedPages {
    /// Over these stores.
    pub(super) fn new(directory: Arc<NodeStores>, stores: ClusterStore) -> Self {
        Self {
            directory,
            pages: ClusterPages::new(stores.clone()),
            stores,
            said_few: AtomicBool::new(false),
        }
    }

    /// Says once when the cluster has fewer stores than a page has copies: waiting does not mend that.
    pub(super) fn say_if_few(&self) {
        let (known, copies) = (self.stores.stores().len(), self.stores.copies());
        if known < copies && !self.said_few.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                known,
                copies,
                "fewer page stores are known than each page has copies: nothing is leased; start nodes with stores, or give --copies {known}"
            );
        }
    }

    /// How many stores get pages now.
    fn ready(&self) -> usize {
        let states = self.stores.stores();
        states.iter().filter(|store| store.reason.is_none()).count()
    }
}

#[async_trait::async_trait]
impl Pages for WatchedPages {
    async fn put(&self, capture: Capture) -> Result<StoredPage, StoreError> {
        self.pages.put(capture).await
    }

    async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<(), StoreError> {
        self.pages.put_unmodified(capture).await
    }

    /// Asks those that get no pages whether they are back.
    async fn can_write(&self) -> Option<bool> {
        let copies = self.stores.copies();
        if self.ready() < copies {
            self.directory.refresh().await;
            self.say_if_few();
            let states = self.stores.stores();
            let away = states.iter().filter(|store| store.reason.is_some());
            let asked = away.map(|store| self.stores.status(store.store_id));
            // Who does not answer in time is still away; what the others said is kept by the stores.
            let limit = Duration::from_millis(STORE_ANSWER_MS);
            let _ = tokio::time::timeout(limit, futures::future::join_all(asked)).await;
        }
        Some(self.ready() >= copies)
    }
}
