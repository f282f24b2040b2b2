//! Options of a node.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use client::Peer;
use raftlog::{EngineOptions, NoTransport, NodeId, Transport};
use urlkey::{FingerprintKey, SuffixList};

use crate::clock::{Clocks, SystemClocks};
use crate::cluster::AddressBook;
use crate::map::MapOptions;

/// Options of a [`crate::FrontierNode`].
#[derive(Clone)]
pub struct NodeOptions {
    /// The node's directory. Made if it is missing.
    pub dir: PathBuf,
    /// This node's replica id; a directory keeps the one it was made with.
    pub node_id: NodeId,
    /// Number of shards, equal ranges of the hash space. Fixed when the directory is made.
    pub shards: u64,
    /// URLs that this node is expected to remember: sizes its filter, 10 bits each.
    pub expected_urls: u64,
    /// The cluster's suffix list.
    pub suffixes: Arc<SuffixList>,
    /// The cluster's fingerprint secret, where it is known; a new directory draws one.
    pub fingerprint_key: Option<FingerprintKey>,
    /// Founding replicas of every shard. A node that is not among them waits to be fed by the shards' leaders.
    pub voters: BTreeSet<NodeId>,
    /// How replicas reach each other.
    pub transport: Arc<dyn Transport>,
    /// Where nodes are, this one included: they stand in leader hints.
    pub book: Arc<AddressBook>,
    /// Frontiers of other nodes that outbox rows are delivered to, beside this one's own.
    pub peers: Vec<Peer>,
    /// Where time comes from.
    pub clocks: Arc<dyn Clocks>,
    /// Options of the log and the state database. Their directory and node id are those above.
    pub engine: EngineOptions,
    /// Group 0, with the shard map. `None`: a node whose shape never changes, alone in a process.
    pub map: Option<MapOptions>,
    /// Copies of a map that a test makes.
    #[cfg(test)]
    pub(crate) views: Option<tokio::sync::watch::Receiver<crate::map::MapView>>,
}

impl NodeOptions {
    /// One node with `shards` shards in a directory, all else by default.
    pub fn new(dir: impl Into<PathBuf>, shards: u64) -> Self {
        let dir = dir.into();
        Self {
            engine: EngineOptions::new(dir.clone(), 1),
            dir,
            node_id: 1,
            shards,
            expected_urls: 10_000_000,
            suffixes: SuffixList::shipped(),
            fingerprint_key: None,
            voters: BTreeSet::from([1]),
            transport: Arc::new(NoTransport),
            book: Arc::default(),
            peers: Vec::new(),
            clocks: Arc::new(SystemClocks),
            map: None,
            #[cfg(test)]
            views: None,
        }
    }
}
