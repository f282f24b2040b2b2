//! This node's copy of the map, and each change of it.
//!
//! It comes from this node's replica of group 0, or from another node's copy. Whichever is newer counts: every version was
//! committed, so versions only rise.

use std::sync::Arc;

use shard_map::ShardMap;
use tokio::sync::watch;

/// One version of the map, as this node has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MapView {
    /// The map.
    pub(crate) map: Arc<ShardMap>,
    /// Log index of the last entry that is known to have been applied to it; 0: none is known.
    pub(crate) applied_index: u64,
}

/// A newer version that another node has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The version.
    pub(crate) version: u64,
    /// host:port of who has it.
    pub(crate) address: String,
}

/// The place where it is. Outlives each instance of the state machine, and each replica of group 0.
#[derive(Debug)]
pub(crate) struct MapCell {
    view: watch::Sender<MapView>,
    heard: watch::Sender<Heard>,
}

impl Default for MapCell {
    fn default() -> Self {
        Self {
            view: watch::Sender::new(MapView::default()),
            heard: watch::Sender::new(Heard::default()),
        }
    }
}

impl MapCell {
    /// Publishes a committed map, unless a newer one is here.
    pub(crate) fn put(&self, map: &ShardMap, applied_index: u64) {
        self.view.send_if_modified(|view| {
            let is_newer = map.version > view.map.version;
            if is_newer {
                view.map = Arc::new(map.clone());
            }
            if map.version == view.map.version {
                view.applied_index = view.applied_index.max(applied_index);
            }
            is_newer
        });
    }

    /// What is there now.
    pub(crate) fn view(&self) -> MapView {
        self.view.borrow().clone()
    }

    /// Its version; 0: there is no map here.
    pub(crate) fn version(&self) -> u64 {
        self.view.borrow().map.version
    }

    /// Each new version.
    pub(crate) fn watch(&self) -> watch::Receiver<MapView> {
        self.view.subscribe()
    }

    /// Another node says which version it has.
    pub(crate) fn hear(&self, version: u64, address: &str) {
        if version > self.version() {
            self.heard.send_replace(Heard {
                version,
                address: address.to_owned(),
            });
        }
    }

    /// Newer versions that others have.
    pub(crate) fn heard(&self) -> watch::Receiver<Heard> {
        self.heard.subscribe()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn map(version: u64, cluster_id: u64) -> ShardMap {
        ShardMap {
            version,
            cluster_id,
            ..ShardMap::default()
        }
    }

    #[test]
    fn versions_only_rise_whoever_tells() {
        let cell = MapCell::default();
        let mut watch = cell.watch();
        for (version, applied, expected) in
            [(3, 9, 3), (2, 20, 3), (3, 11, 3), (3, 10, 3), (5, 0, 5)]
        {
            cell.put(&map(version, 7), applied);
            assert_eq!(cell.version(), expected);
        }
        assert_eq!(cell.view().applied_index, 11, "of the newest that is known");
        assert!(watch.has_changed().unwrap());
        assert_eq!(watch.borrow_and_update().map.version, 5);
        cell.put(&map(5, 7), 30);
        assert!(!watch.has_changed().unwrap(), "nothing new");
        assert_eq!(cell.view().applied_index, 30);
    }

    #[test]
    fn only_newer_versions_are_heard_of() {
        let cell = MapCell::default();
        cell.put(&map(4, 7), 1);
        let heard = cell.heard();
        cell.hear(4, "a:1");
        assert!(!heard.has_changed().unwrap());
        cell.hear(5, "a:1");
        assert!(heard.has_changed().unwrap());
        assert_eq!(
            (heard.borrow().version, heard.borrow().address.as_str()),
            (5, "a:1")
        );
    }
}
