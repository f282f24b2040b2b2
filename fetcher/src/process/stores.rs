//! The page stores: a role of the cluster's nodes, so the frontier says where they are.

use std::sync::Arc;

use client::Router;
use page_service::StoreDirectory;
use parking_lot::RwLock;

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
