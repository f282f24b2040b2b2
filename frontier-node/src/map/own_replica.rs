//! This node's replica of group 0 comes and goes as the map says.

use std::sync::Arc;
use std::time::Duration;

use raftlog::{GroupError, NodeId, process_of};
use shard_map::{Fate, GROUP_ZERO, ReplicaId, ShardMap};

use super::map_node::MapNode;
use crate::limits::OPEN_RETRY_MS;

/// Follows the map.
pub(super) struct OwnReplica(pub(super) Arc<MapNode>);

impl OwnReplica {
    /// Runs until it is cancelled.
    pub(super) async fn run(self) {
        let mut views = self.0.views();
        loop {
            let map = Arc::clone(&views.borrow_and_update().map);
            let settled = self.settle(&map).await;
            if let Err(error) = &settled {
                tracing::error!(%error, "this node's replica of group 0 is not as the map says; it is tried again");
            }
            let again = async {
                match settled {
                    Ok(()) => std::future::pending().await,
                    Err(_) => tokio::time::sleep(Duration::from_millis(OPEN_RETRY_MS)).await,
                }
            };
            tokio::select! {
                changed = views.changed() => if changed.is_err() { return },
                () = again => {}
            }
        }
    }

    /// Removes a replica that the map has retired, and makes one that it names.
    async fn settle(&self, map: &ShardMap) -> Result<(), GroupError> {
        if let Some(own) = self.0.zero().map(|zero| zero.replica())
            && map.fate(GROUP_ZERO, ReplicaId(own)) == Fate::Retired
        {
            self.0.close_zero(own).await?;
            tracing::info!(replica = own, "this node left group 0");
        }
        let Some(named) = named(map, self.0.process()) else {
            return Ok(());
        };
        if self.0.zero().is_some() {
            return Ok(());
        }
        match self.0.join_zero(named).await {
            Ok(()) => {
                tracing::info!(replica = named, "this node has a replica of group 0");
                Ok(())
            }
            // An old copy of the map names what is gone; a newer one will say so.
            Err(GroupError::Removed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The replica of group 0 that the map gives a process.
fn named(map: &ShardMap, process: NodeId) -> Option<NodeId> {
    let replicas = map.group_zero.replicas.iter().map(|replica| replica.id);
    replicas.filter(|id| process_of(*id) == process).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shard_map::{Members, Replica, Role};

    #[test]
    fn the_newest_replica_of_this_very_disk_is_its_own() {
        let of = |id: u64| Replica {
            id,
            role: Role::Voter.into(),
        };
        let id = |node, disk, returns| ReplicaId::new(node, disk, returns).0;
        let map = ShardMap {
            version: 1,
            group_zero: Members {
                replicas: vec![of(id(1, 0, 0)), of(id(2, 0, 3)), of(id(3, 1, 0))],
                ..Members::default()
            },
            ..ShardMap::default()
        };
        assert_eq!(named(&map, 1), Some(1));
        assert_eq!(named(&map, 2), Some(id(2, 0, 3)));
        assert_eq!(named(&map, 3), None, "the disk that node 3 lost");
        assert_eq!(named(&map, id(3, 1, 0)), Some(id(3, 1, 0)));
        assert_eq!(named(&map, 4), None);
    }
}
