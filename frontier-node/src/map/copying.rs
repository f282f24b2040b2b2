//! A node that hears of a newer map fetches it from whoever has it.

use std::sync::Arc;

use proto::raft_v1 as pb;
use shard_map::ShardMap;
use tonic::Status;

use super::map_cell::MapCell;
use crate::cluster::Greeter;

/// Fetches a node's copy, if it is newer than the one that is here.
///
/// # Errors
///
/// Not reached, or what came is not a map of this cluster.
pub(crate) async fn fetch(
    greeter: &Greeter,
    cluster_id: u64,
    address: &str,
    cell: &MapCell,
) -> Result<(), Status> {
    let request = pb::FetchMapRequest {
        cluster_id,
        known_version: cell.version(),
    };
    let answer = greeter.fetch_map(address, request).await?;
    if answer.map.is_empty() {
        return Ok(());
    }
    let map = ShardMap::from_bytes(&answer.map);
    let map = map.map_err(|error| Status::data_loss(format!("{address}: {error}")))?;
    if map.cluster_id != cluster_id {
        return Err(Status::data_loss(format!(
            "{address}: a map of cluster {:016x}",
            map.cluster_id
        )));
    }
    cell.put(&map, answer.applied_index);
    Ok(())
}

/// Follows what others say that they have.
pub(super) struct Copying {
    pub(super) greeter: Arc<Greeter>,
    pub(super) cluster_id: u64,
    pub(super) cell: Arc<MapCell>,
}

impl Copying {
    /// Runs until it is cancelled. What fails is heard of again within a second.
    pub(super) async fn run(self) {
        let mut newer = self.cell.heard();
        loop {
            let heard = newer.borrow_and_update().clone();
            if heard.version > self.cell.version() {
                let address = heard.address.as_str();
                let fetched = fetch(&self.greeter, self.cluster_id, address, &self.cell).await;
                if let Err(status) = fetched {
                    let reason = status.message();
                    tracing::debug!(address, reason, "the shard map was not fetched");
                }
            }
            if newer.changed().await.is_err() {
                return;
            }
        }
    }
}
