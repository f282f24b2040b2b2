//! Copies of the map at the nodes: they come over the network, and a node that starts may have an old one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use frontier_node::MapView;
use shard_map::ShardMap;
use tokio::sync::watch;

use super::world::World;

/// Between two copies to a node, ms.
const EVERY_MS: (u64, u64) = (50, 500);

/// Where each node's present life hears of the map.
#[derive(Default)]
pub(super) struct Copies(Mutex<BTreeMap<u64, watch::Sender<MapView>>>);

impl Copies {
    /// A node starts with a copy; what it hears from then on.
    pub(super) fn start(&self, node: u64, first: Arc<ShardMap>) -> watch::Receiver<MapView> {
        let (sender, receiver) = watch::channel(MapView::told(first));
        self.0.lock().unwrap().insert(node, sender);
        receiver
    }

    /// A copy has come: one that is older than what the node has is of no use.
    fn come(&self, node: u64, map: Arc<ShardMap>) {
        if let Some(sender) = self.0.lock().unwrap().get(&node) {
            sender.send_if_modified(|known| {
                let is_newer = known.map.version < map.version;
                if is_newer {
                    *known = MapView::told(map);
                }
                is_newer
            });
        }
    }
}

/// Tells all nodes of the newest map, again and again.
pub(super) async fn tell(world: Arc<World>) {
    loop {
        for node in 1..=world.plan.nodes {
            let (map, there) = (world.zero.map(), Arc::clone(&world));
            world.net.tell(node, move |is_open| {
                if is_open {
                    there.copies.come(node, map);
                }
            });
        }
        world.sleep(EVERY_MS).await;
    }
}
