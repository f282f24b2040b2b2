//! The page stores of a cluster, found through its nodes.

use crate::output::CommandError;
use client::{Router, RouterOptions};
use page_service::{ClusterStore, FixedStores};
use std::sync::Arc;
use urlkey::SuffixList;

/// A cluster as one who reads pages sees it.
pub struct ClusterPages {
    /// Finds URLs.
    pub router: Router,
    /// Finds pages.
    pub stores: ClusterStore,
}

impl ClusterPages {
    /// Asks the nodes at these addresses; those that do not answer are passed over.
    pub async fn connect(addresses: &[String]) -> Result<Self, CommandError> {
        let options = RouterOptions::new(SuffixList::shipped());
        let router = Router::connect_addresses(addresses.to_vec(), options)
            .await
            .map_err(|e| CommandError::of("cannot reach the cluster", e))?;
        let nodes = router
            .nodes()
            .await
            .map_err(|e| CommandError::of("cannot list the cluster's nodes", e))?;
        let with_store = nodes.nodes.into_iter().filter(|node| node.store_id != 0);
        let stores = FixedStores(
            with_store
                .map(|node| (node.store_id, node.address))
                .collect(),
        );
        // Nothing is put, so the number of copies does not matter.
        let stores = ClusterStore::new(Arc::new(stores), 1);
        Ok(Self { router, stores })
    }
}
