//! Replicas that come and go as the map says: what goes on through it, what a restart, an old copy and a wiped disk find.

mod moves;
mod one_node;
mod quad;

use shard_map::{Members, Node, Replica, ReplicaId, Shard, ShardMap};
use tokio::sync::watch;

use crate::map::MapView;

/// The shard that all nodes begin with.
const SHARD: u64 = 1;

/// A shard as a map of these tests has it: range, epoch, replicas, and the newest ids that were ever issued.
struct Placed {
    shard: u64,
    range: (u64, u64),
    epoch: u64,
    replicas: Vec<u64>,
    issued: Vec<u64>,
}

/// All hashes, on these replicas.
fn whole(epoch: u64, replicas: &[u64], issued: &[u64]) -> Placed {
    Placed {
        shard: SHARD,
        range: (0, u64::MAX),
        epoch,
        replicas: replicas.to_vec(),
        issued: issued.to_vec(),
    }
}

/// A version of a map of nodes 1 and 2.
fn map(version: u64, shards: &[Placed]) -> ShardMap {
    let shard = |placed: &Placed| Shard {
        id: placed.shard,
        first: placed.range.0,
        last: placed.range.1,
        members: Members {
            epoch: placed.epoch,
            replicas: placed
                .replicas
                .iter()
                .map(|id| Replica { id: *id, role: 0 })
                .collect(),
            issued: placed.issued.clone(),
            ..Members::default()
        },
    };
    let node = |number: u32| Node {
        number,
        address: format!("n{number}"),
        ..Node::default()
    };
    ShardMap {
        version,
        shards: shards.iter().map(shard).collect(),
        nodes: vec![node(1), node(2)],
        ..ShardMap::default()
    }
}

const fn id(node: u32, incarnation: u32, returns: u16) -> u64 {
    ReplicaId::new(node, incarnation, returns).0
}

fn view(map: &ShardMap) -> MapView {
    MapView {
        map: std::sync::Arc::new(map.clone()),
        ..MapView::default()
    }
}

/// Whoever tells a node of the map.
type Teller = watch::Sender<MapView>;
