//! A cluster as the command line reaches it, and its page stores, found through its nodes.

use crate::output::CommandError;
use crate::patience::Patience;
use crate::suffixes;
use client::{Router, RouterOptions};
use page_service::{ClusterStore, FixedStores};
use std::path::Path;
use std::sync::Arc;

/// Asks the nodes at these addresses for the shard map; those that do not answer are passed over, and while none does they
/// are asked again.
pub async fn connect(
    addresses: &[String],
    suffix_list: Option<&Path>,
    patience: &mut Patience,
) -> Result<Router, CommandError> {
    let options = RouterOptions::new(suffixes::read(suffix_list)?);
    patience
        .until(async || Router::connect_addresses(addresses.to_vec(), options.clone()).await)
        .await
        .map_err(|e| CommandError::of("cannot reach the cluster", e))
}

/// A cluster as one who reads pages sees it.
pub struct ClusterPages {
    /// Finds URLs.
    pub router: Arc<Router>,
    /// Finds pages.
    pub stores: ClusterStore,
}

impl ClusterPages {
    /// Finds the cluster and its stores.
    pub async fn connect(
        addresses: &[String],
        suffix_list: Option<&Path>,
        patience: &mut Patience,
    ) -> Result<Self, CommandError> {
        let router = connect(addresses, suffix_list, patience).await?;
        let nodes = patience
            .until(async || router.nodes().await)
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
        let router = Arc::new(router);
        Ok(Self { router, stores })
    }
}
