//! This node's copy of the map, and each change of it.

use std::sync::Arc;

use shard_map::ShardMap;
use tokio::sync::watch;

/// One version of the map, as this node has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MapView {
    /// The map.
    pub(crate) map: Arc<ShardMap>,
    /// Log index of the last entry that this instance applied; 0 before the first.
    pub(crate) applied_index: u64,
}

/// The place where it is. Outlives each instance of the state machine.
#[derive(Debug)]
pub(crate) struct MapCell {
    view: watch::Sender<MapView>,
}

impl Default for MapCell {
    fn default() -> Self {
        Self {
            view: watch::Sender::new(MapView::default()),
        }
    }
}

impl MapCell {
    /// Publishes a map whose row is committed.
    pub(super) fn put(&self, map: &ShardMap, applied_index: u64) {
        self.view.send_modify(|view| {
            if *view.map != *map {
                view.map = Arc::new(map.clone());
            }
            view.applied_index = applied_index;
        });
    }

    /// What is there now.
    pub(crate) fn view(&self) -> MapView {
        self.view.borrow().clone()
    }

    /// Each change of it.
    pub(crate) fn watch(&self) -> watch::Receiver<MapView> {
        self.view.subscribe()
    }
}
