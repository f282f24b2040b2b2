//! Where the replicas of the cluster are: every node's number, newest incarnation and address.
//!
//! Kept in a small file, since a node that starts while others are down must still know that an incarnation was used. An
//! entry only ever grows: a higher incarnation replaces a lower one, never the other way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, RwLock};
use proto::frontier_v1 as pb;
use raftlog::NodeId;
use serde::{Deserialize, Serialize};

use super::replica_id::{incarnation, node_number, replica_id, store_id};
use crate::durable_file;
use crate::limits::{INCARNATION, NODE_NUMBER};

const FILE_NAME: &str = "peers.toml";
/// Before the process's mask: there is nothing secret in it.
const FILE_MODE: u32 = 0o666;

/// The file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct BookError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEntry {
    /// Its number.
    pub node: u32,
    /// Its newest known incarnation.
    pub incarnation: u32,
    /// host:port of its gRPC server; empty when unknown.
    pub address: String,
    /// Whether it keeps pages.
    pub has_store: bool,
}

impl NodeEntry {
    /// The replica id of the newest incarnation.
    pub const fn replica(&self) -> NodeId {
        replica_id(self.node, self.incarnation)
    }

    /// Whether a node can have such a number and incarnation: both stand in ids of stores too.
    fn is_possible(&self) -> bool {
        (1..=NODE_NUMBER).contains(&u64::from(self.node)) && self.incarnation <= INCARNATION
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    nodes: Vec<NodeEntry>,
}

/// The book. Shared by everything that dials.
#[derive(Debug, Default)]
pub struct AddressBook {
    nodes: RwLock<BTreeMap<u32, NodeEntry>>,
    /// The newest incarnation of each node that left for good, as the shard map says.
    gone: RwLock<BTreeMap<u32, u32>>,
    /// Where it is kept; `None`: in memory only.
    dir: Option<PathBuf>,
    writing: Mutex<()>,
}

impl AddressBook {
    /// A book in memory, for nodes of one process.
    pub fn in_memory(entries: impl IntoIterator<Item = NodeEntry>) -> Self {
        Self {
            nodes: RwLock::new(entries.into_iter().map(|e| (e.node, e)).collect()),
            ..Self::default()
        }
    }

    /// The book of a directory; an empty one if it has none. Blocking.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is damaged.
    pub fn open(dir: &Path) -> Result<Self, BookError> {
        let path = dir.join(FILE_NAME);
        let error = |reason: String| BookError {
            path: path.clone(),
            reason,
        };
        let stored = match std::fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|e| error(e.message().to_owned()))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Stored::default(),
            Err(e) => return Err(error(e.to_string())),
        };
        Ok(Self {
            dir: Some(dir.to_owned()),
            ..Self::in_memory(stored.nodes)
        })
    }

    /// Takes what another one knows; true if anything was new. What is new is on disk on return. What no node can be is
    /// passed over. Blocking.
    ///
    /// # Errors
    ///
    /// The file cannot be written; nothing is taken then.
    pub fn learn(&self, entries: &[NodeEntry]) -> Result<bool, BookError> {
        let _one_at_a_time = self.writing.lock();
        let mut next = self.nodes.read().clone();
        let mut is_new = false;
        for entry in entries.iter().filter(|entry| entry.is_possible()) {
            is_new |= merge(&mut next, entry);
        }
        if is_new {
            if let Some(dir) = &self.dir {
                write(dir, &next)?;
            }
            *self.nodes.write() = next;
        }
        Ok(is_new)
    }

    /// Where a replica is: `None` when its node is unknown, or known under a later incarnation, or gone.
    pub fn address_of(&self, replica: NodeId) -> Option<String> {
        let nodes = self.nodes.read();
        let entry = nodes.get(&node_number(replica))?;
        let is_there = entry.incarnation == incarnation(replica)
            && !entry.address.is_empty()
            && !self.is_gone(entry);
        is_there.then(|| entry.address.clone())
    }

    /// Nodes that left for good, each with its newest incarnation: they are no more dialled, and not forgotten either.
    pub(crate) fn set_gone(&self, gone: BTreeMap<u32, u32>) {
        *self.gone.write() = gone;
    }

    /// Whether a node left for good under this incarnation or a later one.
    pub(crate) fn is_gone(&self, entry: &NodeEntry) -> bool {
        let gone = self.gone.read();
        gone.get(&entry.node)
            .is_some_and(|newest| *newest >= entry.incarnation)
    }

    /// All nodes that did not leave for good.
    pub fn present(&self) -> Vec<NodeEntry> {
        let mut entries = self.entries();
        entries.retain(|entry| !self.is_gone(entry));
        entries
    }

    /// All nodes, those that left included.
    pub fn entries(&self) -> Vec<NodeEntry> {
        self.nodes.read().values().cloned().collect()
    }

    /// As told to clients.
    pub(crate) fn nodes(&self) -> pb::NodesResponse {
        let node = |entry: NodeEntry| pb::Node {
            node: entry.node,
            replica: entry.replica(),
            store_id: if entry.has_store {
                store_id(entry.replica())
            } else {
                0
            },
            address: entry.address,
        };
        pb::NodesResponse {
            nodes: self.present().into_iter().map(node).collect(),
        }
    }
}

/// Keeps the newer incarnation, and of the same one what is told last.
fn merge(nodes: &mut BTreeMap<u32, NodeEntry>, entry: &NodeEntry) -> bool {
    match nodes.get(&entry.node) {
        Some(known) if known.incarnation > entry.incarnation || known == entry => false,
        Some(known) if known.incarnation == entry.incarnation && entry.address.is_empty() => false,
        _ => {
            nodes.insert(entry.node, entry.clone());
            true
        }
    }
}

/// Whole or not at all.
fn write(dir: &Path, nodes: &BTreeMap<u32, NodeEntry>) -> Result<(), BookError> {
    let path = dir.join(FILE_NAME);
    let error = |reason: String| BookError {
        path: path.clone(),
        reason,
    };
    let stored = Stored {
        nodes: nodes.values().cloned().collect(),
    };
    let text = toml::to_string(&stored).map_err(|e| error(e.to_string()))?;
    durable_file::replace(dir, FILE_NAME, &text, FILE_MODE).map_err(|e| error(e.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(node: u32, incarnation: u32, address: &str) -> NodeEntry {
        NodeEntry {
            node,
            incarnation,
            address: address.to_owned(),
            has_store: true,
        }
    }

    #[test]
    fn an_incarnation_never_goes_back_not_even_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let book = AddressBook::open(dir.path()).unwrap();
        assert!(
            book.learn(&[entry(1, 0, "a:1"), entry(2, 1, "b:1")])
                .unwrap()
        );
        assert!(!book.learn(&[entry(2, 0, "old:1")]).unwrap());
        assert!(!book.learn(&[entry(2, 1, "")]).unwrap());
        assert!(book.learn(&[entry(2, 1, "c:1")]).unwrap());
        drop(book);
        let book = AddressBook::open(dir.path()).unwrap();
        assert_eq!(book.address_of(replica_id(2, 1)).as_deref(), Some("c:1"));
        assert_eq!(book.address_of(replica_id(2, 0)), None);
        assert_eq!(book.address_of(replica_id(9, 0)), None);
        let stores: Vec<u32> = book.nodes().nodes.iter().map(|n| n.store_id).collect();
        assert_eq!(stores, [1, (1 << 16) | 2]);
    }

    #[test]
    fn what_no_node_can_be_is_not_taken() {
        let book = AddressBook::in_memory([entry(1, 0, "a:1")]);
        let told = [
            entry(0, 0, "b:1"),
            entry(70_000, 0, "c:1"),
            entry(1, 65_536, "d:1"),
        ];
        assert!(!book.learn(&told).unwrap());
        assert_eq!(book.entries(), [entry(1, 0, "a:1")]);
    }

    #[test]
    fn a_damaged_file_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "nodes = 3").unwrap();
        let error = AddressBook::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains(FILE_NAME), "{error}");
    }
}
