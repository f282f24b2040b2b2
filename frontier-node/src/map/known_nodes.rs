//! The address book follows the map: a node that nobody configured is known to all, and one that is gone is not dialled.

use std::sync::Arc;
use std::time::Duration;

use shard_map::{NodeState, ShardMap};
use tokio::sync::watch;

use super::map_cell::MapView;
use crate::cluster::{AddressBook, BookError, NodeEntry};
use crate::limits::OPEN_RETRY_MS;

/// The task that takes each version over.
pub(super) struct KnownNodes {
    pub(super) book: Arc<AddressBook>,
    /// This node: nobody knows better where it is than itself.
    pub(super) own: u32,
    pub(super) views: watch::Receiver<MapView>,
}

impl KnownNodes {
    /// Runs until it is cancelled.
    pub(super) async fn run(mut self) {
        loop {
            let map = Arc::clone(&self.views.borrow_and_update().map);
            let (book, own) = (Arc::clone(&self.book), self.own);
            let learnt = tokio::task::spawn_blocking(move || learn(&book, own, &map)).await;
            if let Ok(Err(error)) = learnt {
                tracing::warn!(%error, "cannot write down where nodes are");
                tokio::time::sleep(Duration::from_millis(OPEN_RETRY_MS)).await;
                self.views.mark_changed();
            }
            if self.views.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Takes what the map knows and the book does not. An address that is known stays: nodes tell each other where they are
/// sooner than the map hears of it. Blocking.
pub(crate) fn learn(book: &AddressBook, own: u32, map: &ShardMap) -> Result<(), BookError> {
    let is_gone = |node: &&shard_map::Node| node.state() == NodeState::Gone;
    let gone = map.nodes.iter().filter(is_gone);
    book.set_gone(gone.map(|node| (node.number, node.incarnation)).collect());
    let known = book.entries();
    let is_new = |node: &&shard_map::Node| {
        let known = known.iter().find(|entry| entry.node == node.number);
        node.number != own
            && known.is_none_or(|entry| {
                entry.incarnation < node.incarnation
                    || (entry.incarnation == node.incarnation && entry.address.is_empty())
            })
    };
    let entry = |node: &shard_map::Node| NodeEntry {
        node: node.number,
        incarnation: node.incarnation,
        address: node.address.clone(),
        has_store: node.has_store,
    };
    let new: Vec<NodeEntry> = map.nodes.iter().filter(is_new).map(entry).collect();
    book.learn(&new).map(|_| ())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use shard_map::Node;

    fn node(number: u32, incarnation: u32, address: &str, state: NodeState) -> Node {
        Node {
            number,
            incarnation,
            address: address.to_owned(),
            has_store: true,
            state: state.into(),
            ..Node::default()
        }
    }

    #[test]
    fn the_book_takes_what_it_lacks_and_forgets_where_gone_nodes_were() {
        let entry = |node: u32, incarnation: u32, address: &str| NodeEntry {
            node,
            incarnation,
            address: address.to_owned(),
            has_store: true,
        };
        let book = AddressBook::in_memory([
            entry(1, 0, "own:1"),
            entry(2, 0, "moved:1"),
            entry(5, 0, "e:1"),
        ]);
        let map = ShardMap {
            version: 1,
            nodes: vec![
                node(1, 0, "elsewhere:1", NodeState::Up),
                node(2, 0, "old:1", NodeState::Up),
                node(3, 2, "c:1", NodeState::Draining),
                node(4, 0, "d:1", NodeState::Gone),
                node(5, 0, "e:1", NodeState::Gone),
            ],
            ..ShardMap::default()
        };
        learn(&book, 1, &map).unwrap();
        let address = |node: u64| book.address_of(node);
        assert_eq!(address(1).as_deref(), Some("own:1"));
        assert_eq!(address(2).as_deref(), Some("moved:1"));
        assert_eq!(address((2 << 32) | 3).as_deref(), Some("c:1"));
        assert_eq!((address(4), address(5)), (None, None));
        let here: Vec<u32> = book.present().iter().map(|entry| entry.node).collect();
        assert_eq!(here, [1, 2, 3]);
        assert_eq!(book.entries().len(), 5, "what was used is remembered");
        // Node 5's place has a new disk.
        let back = ShardMap {
            nodes: vec![node(5, 1, "f:1", NodeState::Up)],
            ..map
        };
        learn(&book, 1, &back).unwrap();
        assert_eq!(address((1 << 32) | 5).as_deref(), Some("f:1"));
    }
}
