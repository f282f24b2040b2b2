//! Which stores there are and where.

/// The stores of a cluster.
#[async_trait::async_trait]
pub trait StoreDirectory: Send + Sync + 'static {
    /// All stores that are part of the cluster, alive or not: their ids and addresses (`host:port`). Cheap; asked at every put.
    fn stores(&self) -> Vec<(u32, String)>;
    /// Learns anew what there is. Called when too few stores answer; not more often than once in
    /// [`REFRESH_MS`](crate::limits::REFRESH_MS), and cut off when it takes too long.
    async fn refresh(&self);
}

/// Stores that never change.
#[derive(Clone, Debug, Default)]
pub struct FixedStores(pub Vec<(u32, String)>);

#[async_trait::async_trait]
impl StoreDirectory for FixedStores {
    fn stores(&self) -> Vec<(u32, String)> {
        self.0.clone()
    }

    async fn refresh(&self) {}
}
