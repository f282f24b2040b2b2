//! Who this node is, and what it knows of the cluster.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use proto::raft_v1 as pb;
use raftlog::NodeId;
use shard_map::NodeState;
use urlkey::{CANONICALIZER_VERSION, FingerprintKey, SuffixList};

use super::address_book::{AddressBook, BookError, NodeEntry};
use super::replica_id::{incarnation, node_number, replica_id};
use crate::identity::Descriptor;
use crate::limits::DEFAULT_REPLICAS;
use crate::map::MapCell;

/// Whether a link to a replica is open: its process lives.
pub type HasLink = Box<dyn Fn(NodeId) -> bool + Send + Sync>;

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
    /// Shards of a new cluster, where a number was asked for.
    pub shards: Option<u64>,
    /// The secret that a new cluster is to have, where one is given: it is to be restored from a backup.
    pub key: Option<FingerprintKey>,
    /// Voters that each group of a new cluster should have, where a number was asked for.
    pub replicas: Option<u32>,
    /// Random: tells this process from another one that was started under the same number.
    pub process: u64,
    /// The list that says what a site is.
    pub suffixes: Arc<SuffixList>,
    /// Where the others are.
    pub book: Arc<AddressBook>,
    /// What the directory was made with, once it was.
    pub descriptor: RwLock<Option<Descriptor>>,
    /// This node's copy of the shard map.
    pub(crate) copy: Arc<MapCell>,
    /// Links to others, once there are any.
    pub links: OnceLock<HasLink>,
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
        let founders = match &descriptor {
            Some(descriptor) => descriptor.founders.clone(),
            None => self.founders.iter().map(|(node, _)| *node).collect(),
        };
        let shards = match &descriptor {
            Some(descriptor) => descriptor.shards.len() as u64,
            None => self.shards.unwrap_or(0),
        };
        pb::Introduction {
            cluster_id: descriptor.as_ref().map_or(0, |d| d.cluster_id),
            node: self.node,
            incarnation: descriptor.as_ref().map_or(0, |d| incarnation(d.replica)),
            address: self.address.clone(),
            has_store: self.has_store,
            canonicalizer_version: CANONICALIZER_VERSION,
            suffix_list_digest: self.suffixes.digest(),
            founders,
            shards: u32::try_from(shards).unwrap_or(u32::MAX),
            known: self.book.entries().into_iter().map(known_node).collect(),
            process: self.process,
            replica: descriptor.as_ref().map_or(0, |d| d.replica),
            map_version: self.copy.version(),
            replicas: match &descriptor {
                Some(descriptor) => descriptor.replicas,
                None => self.replicas.unwrap_or(0),
            },
        }
    }

    /// Why another one cannot be of the same cluster; `None` when it can.
    pub fn objection(&self, other: &pb::Introduction) -> Option<String> {
        let own = self.introduction();
        if other.canonicalizer_version != own.canonicalizer_version {
            let (theirs, ours) = (other.canonicalizer_version, own.canonicalizer_version);
            return Some(format!(
                "canonicaliser version {theirs} of {} is not {ours}",
                called(other.node)
            ));
        }
        if other.suffix_list_digest != own.suffix_list_digest {
            return Some(format!(
                "the suffix list of {} has digest {:016x}, that of {} {:016x}",
                called(other.node),
                other.suffix_list_digest,
                called(own.node),
                own.suffix_list_digest
            ));
        }
        if other.replica != 0 && other.replica != replica_id(other.node, other.incarnation) {
            let (node, replica) = (other.node, other.replica);
            let whose = node_number(replica);
            return Some(format!(
                "node {node} has the directory of node {whose}, replica {replica}"
            ));
        }
        if own.cluster_id != 0 && other.cluster_id != 0 {
            return (own.cluster_id != other.cluster_id).then(|| {
                format!(
                    "node {} is of cluster {:016x}, node {} of {:016x}",
                    other.node, other.cluster_id, own.node, own.cluster_id
                )
            });
        }
        objection_to_founding(&own, other)
    }

    /// Why a node may not have a later incarnation yet than is known here: the present one lives. `None`: it may.
    pub fn still_alive(&self, caller: &pb::Introduction) -> Option<String> {
        let recorded = self.recorded(caller.node)?;
        let is_later = caller.cluster_id == 0 || caller.incarnation > recorded;
        (is_later && self.has_link(caller.node, recorded)).then(|| {
            format!(
                "node {} lives: node {} has an open link to its replica {}. Two processes with one number?",
                caller.node,
                self.node,
                replica_id(caller.node, recorded)
            )
        })
    }

    /// The incarnation under which the shard map says that this node is gone for good; `None`: it does not.
    pub fn gone(&self) -> Option<u32> {
        let own = incarnation(self.replica()?);
        let map = self.copy.view().map;
        let gone = map
            .node(self.node)
            .filter(|n| n.state() == NodeState::Gone)?;
        (gone.incarnation >= own).then_some(gone.incarnation)
    }

    fn has_link(&self, node: u32, incarnation: u32) -> bool {
        self.is_linked(replica_id(node, incarnation))
    }

    /// Whether this node has an open link to a replica's process.
    pub fn is_linked(&self, replica: NodeId) -> bool {
        let links = self.links.get();
        links.is_some_and(|has_link| has_link(replica))
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
        let told = told.filter(|entry| entry.node != own);
        // Who is linked to lives, so nothing took its place, whoever says so.
        let is_early = |entry: &NodeEntry| {
            let recorded = self.recorded(entry.node);
            recorded
                .is_some_and(|known| entry.incarnation > known && self.has_link(entry.node, known))
        };
        let entries: Vec<_> = told.filter(|entry| !is_early(entry)).collect();
        self.book.learn(&entries).map(|_| ())
    }

    /// The newest incarnation of a node that is on this disk.
    pub fn recorded(&self, node: u32) -> Option<u32> {
        let mut entries = self.book.entries().into_iter();
        entries.find(|e| e.node == node).map(|e| e.incarnation)
    }

    /// Addresses of all other nodes that did not leave: those of the configuration, then what the book knows better.
    pub fn others(&self) -> Vec<(u32, String)> {
        let mut others: std::collections::BTreeMap<u32, String> =
            self.founders.iter().cloned().collect();
        for entry in self.book.entries() {
            if self.book.is_gone(&entry) {
                others.remove(&entry.node);
            } else if !entry.address.is_empty() {
                others.insert(entry.node, entry.address);
            }
        }
        others.remove(&self.node);
        others.into_iter().collect()
    }
}

/// For people: who joins has no number yet.
fn called(node: u32) -> String {
    match node {
        0 => "the new node".to_owned(),
        number => format!("node {number}"),
    }
}

/// Why two nodes are not of one cluster, of which at least one has none yet.
fn objection_to_founding(own: &pb::Introduction, other: &pb::Introduction) -> Option<String> {
    // A program of before says nothing of the founders of a cluster that is there, nor does who comes to join one.
    let (theirs, ours) = (&other.founders, &own.founders);
    if !theirs.is_empty() && !ours.is_empty() && theirs != ours {
        return Some(format!(
            "the founders of node {} are nodes {:?}, those of node {} {:?}",
            other.node, other.founders, own.node, own.founders
        ));
    }
    let is_founding = own.cluster_id == 0 && other.cluster_id == 0;
    objection_to_count(own, other, "shards", |of| match of.shards {
        // Who founds a cluster without a number asks for one shard.
        0 if is_founding => 1,
        shards => shards,
    })
    .or_else(|| {
        objection_to_count(own, other, "replicas", |of| match of.replicas {
            0 if is_founding => DEFAULT_REPLICAS,
            replicas => replicas,
        })
    })
}

/// Who comes to a cluster may leave a number to it, and says 0.
fn objection_to_count(
    own: &pb::Introduction,
    other: &pb::Introduction,
    what: &str,
    count: impl Fn(&pb::Introduction) -> u32,
) -> Option<String> {
    let (theirs, ours) = (count(other), count(own));
    (theirs != 0 && ours != 0 && theirs != ours).then(|| {
        format!(
            "node {} asks for or has {theirs} {what}, node {} {ours}",
            other.node, own.node
        )
    })
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
        let entries = self.book.present().into_iter();
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
