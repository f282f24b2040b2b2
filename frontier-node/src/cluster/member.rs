//! Who this node is, and what it knows of the cluster.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use proto::raft_v1 as pb;
use raftlog::NodeId;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

use super::address_book::{AddressBook, BookError, NodeEntry};
use super::replica_id::{incarnation, node_number};
use crate::identity::Descriptor;

/// This node as a member of its cluster.
pub struct Member {
    /// Its directory.
    pub dir: PathBuf,
    /// Its number.
    pub node: u32,
    /// Where others reach its gRPC server.
    pub address: String,
    /// Whether it keeps pages.
    pub has_store: bool,
    /// Nodes that found the cluster, with their addresses, this one included; ascending.
    pub founders: Vec<(u32, String)>,
    /// Shards of a new cluster.
    pub shards: u64,
    /// The list that says what a site is.
    pub suffixes: Arc<SuffixList>,
    /// Where the others are.
    pub book: Arc<AddressBook>,
    /// What the directory was made with, once it was.
    pub descriptor: RwLock<Option<Descriptor>>,
}

impl Member {
    /// What the directory was made with.
    pub fn descriptor(&self) -> Option<Descriptor> {
        self.descriptor.read().clone()
    }

    /// The replica that this directory is, once it is one.
    pub fn replica(&self) -> Option<NodeId> {
        self.descriptor.read().as_ref().map(|d| d.replica)
    }

    /// This node's own entry, once it has an incarnation.
    pub fn entry(&self) -> Option<NodeEntry> {
        Some(NodeEntry {
            node: self.node,
            incarnation: incarnation(self.replica()?),
            address: self.address.clone(),
            has_store: self.has_store,
        })
    }

    /// How this node introduces itself.
    pub fn introduction(&self) -> pb::Introduction {
        let descriptor = self.descriptor();
        let is_founded = descriptor.is_some();
        let founders = self.founders.iter().map(|(node, _)| *node);
        pb::Introduction {
            cluster_id: descriptor.as_ref().map_or(0, |d| d.cluster_id),
            node: self.node,
            incarnation: descriptor.as_ref().map_or(0, |d| incarnation(d.replica)),
            address: self.address.clone(),
            has_store: self.has_store,
            canonicalizer_version: CANONICALIZER_VERSION,
            suffix_list_digest: self.suffixes.digest(),
            founders: if is_founded {
                Vec::new()
            } else {
                founders.collect()
            },
            shards: u32::try_from(self.shards).unwrap_or(u32::MAX),
            known: self.book.entries().into_iter().map(known_node).collect(),
        }
    }

    /// Why another one cannot be of the same cluster; `None` when it can.
    pub fn objection(&self, other: &pb::Introduction) -> Option<String> {
        let own = self.introduction();
        if other.canonicalizer_version != own.canonicalizer_version {
            let (theirs, ours) = (other.canonicalizer_version, own.canonicalizer_version);
            return Some(format!(
                "canonicaliser version {theirs} of node {} is not {ours}",
                other.node
            ));
        }
        if other.suffix_list_digest != own.suffix_list_digest {
            return Some(format!(
                "the suffix list of node {} has digest {:016x}, that of node {} {:016x}",
                other.node, other.suffix_list_digest, own.node, own.suffix_list_digest
            ));
        }
        match (own.cluster_id, other.cluster_id) {
            (0, 0) if other.founders != own.founders => Some(format!(
                "node {} would found a cluster of nodes {:?}, node {} one of {:?}",
                other.node, other.founders, own.node, own.founders
            )),
            (0, 0) if other.shards != own.shards => Some(format!(
                "node {} asks for {} shards, node {} for {}",
                other.node, other.shards, own.node, own.shards
            )),
            (ours, theirs) if ours != 0 && theirs != 0 && ours != theirs => Some(format!(
                "node {} is of cluster {theirs:016x}, node {} of {ours:016x}",
                other.node, own.node
            )),
            _ => None,
        }
    }

    /// Takes what another node of the same cluster told. Blocking.
    ///
    /// # Errors
    ///
    /// The book cannot be written.
    pub fn learn(&self, other: &pb::Introduction) -> Result<(), BookError> {
        if other.cluster_id == 0 || self.descriptor.read().is_none() {
            return Ok(());
        }
        let own = self.node;
        let told = other.known.iter().map(entry_of).chain([NodeEntry {
            node: other.node,
            incarnation: other.incarnation,
            address: other.address.clone(),
            has_store: other.has_store,
        }]);
        // Nobody knows better where this node is than itself.
        let entries: Vec<_> = told.filter(|entry| entry.node != own).collect();
        self.book.learn(&entries).map(|_| ())
    }

    /// The newest incarnation of a node that is on this disk.
    pub fn recorded(&self, node: u32) -> Option<u32> {
        let mut entries = self.book.entries().into_iter();
        entries.find(|e| e.node == node).map(|e| e.incarnation)
    }

    /// Addresses of all other nodes: those of the configuration, then what the book knows better.
    pub fn others(&self) -> Vec<(u32, String)> {
        let mut others: std::collections::BTreeMap<u32, String> =
            self.founders.iter().cloned().collect();
        for entry in self.book.entries() {
            if !entry.address.is_empty() {
                others.insert(entry.node, entry.address);
            }
        }
        others.remove(&self.node);
        others.into_iter().collect()
    }
}

impl raft_net::AddressBook for Member {
    fn address(&self, replica: NodeId) -> Option<String> {
        if let Some(address) = self.book.address_of(replica) {
            return Some(address);
        }
        // A founder that has not introduced itself yet is where the configuration says.
        let node = node_number(replica);
        let is_unknown = self.recorded(node).is_none() && incarnation(replica) == 0;
        let mut founders = self.founders.iter();
        founders
            .find(|(founder, _)| is_unknown && *founder == node)
            .map(|(_, address)| address.clone())
    }

    fn peers(&self) -> Vec<NodeId> {
        let entries = self.book.entries().into_iter();
        entries
            .filter(|entry| entry.node != self.node)
            .map(|entry| entry.replica())
            .collect()
    }
}

fn known_node(entry: NodeEntry) -> pb::KnownNode {
    pb::KnownNode {
        node: entry.node,
        incarnation: entry.incarnation,
        address: entry.address,
        has_store: entry.has_store,
    }
}

fn entry_of(known: &pb::KnownNode) -> NodeEntry {
    NodeEntry {
        node: known.node,
        incarnation: known.incarnation,
        address: known.address.clone(),
        has_store: known.has_store,
    }
}
