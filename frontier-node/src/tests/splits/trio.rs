//! Three nodes in this process, each with a replica of every shard.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::Frontier;
use raftlog::RaftTiming;
use raftlog::testing::LocalNetwork;
use tempfile::TempDir;
use urlkey::FingerprintKey;

use super::super::support::{options, until};
use super::held::Held;
use crate::cluster::{AddressBook, NodeEntry};
use crate::{FrontierNode, NodeOptions};

pub(super) const ALL: [u64; 3] = [1, 2, 3];

/// See the head of this file.
pub(super) struct Trio {
    network: LocalNetwork,
    pub(super) dirs: BTreeMap<u64, TempDir>,
    pub(super) held: BTreeMap<u64, Arc<Held>>,
    pub(super) nodes: BTreeMap<u64, FrontierNode>,
    log_keep_entries: u64,
}

impl Trio {
    /// One shard; logs are kept as long as that.
    pub(super) async fn start(log_keep_entries: u64) -> Self {
        let mut trio = Self {
            network: LocalNetwork::default(),
            dirs: ALL.map(|id| (id, tempfile::tempdir().unwrap())).into(),
            held: ALL.map(|id| (id, Arc::default())).into(),
            nodes: BTreeMap::new(),
            log_keep_entries,
        };
        for id in ALL {
            trio.open(id).await;
        }
        trio
    }

    fn options(&self, id: u64) -> NodeOptions {
        let entry = |id: u64| NodeEntry {
            node: id as u32,
            incarnation: 0,
            address: format!("n{id}"),
            has_store: false,
        };
        let mut options = NodeOptions {
            node_id: id,
            fingerprint_key: Some(FingerprintKey::ZERO),
            voters: ALL.into(),
            transport: self.network.transport(id),
            book: Arc::new(AddressBook::in_memory(ALL.map(entry))),
            ..options(self.dirs[&id].path(), 1)
        };
        options.engine.timing = RaftTiming {
            heartbeat_ms: 50,
            election_min_ms: 300,
            election_max_ms: 600,
        };
        options.engine.flush_interval_ms = 50;
        options.engine.log_keep_entries = self.log_keep_entries;
        options.engine.faults = Some(self.held[&id].clone());
        options
    }

    /// Starts a node that is down.
    pub(super) async fn open(&mut self, id: u64) {
        let node = FrontierNode::open(self.options(id)).await.unwrap();
        self.network.attach(&node.engine());
        self.nodes.insert(id, node);
    }

    pub(super) async fn stop(&mut self, id: u64) {
        self.nodes.remove(&id).unwrap().close().await;
    }

    /// The node that leads a shard and has proven it.
    pub(super) async fn leader(&self, shard: u64) -> u64 {
        let find = || {
            let leads = |node: &FrontierNode| {
                let standing = node.shard_standing(shard);
                standing.is_some_and(|standing| standing.is_proven)
            };
            let mut nodes = self.nodes.iter();
            nodes.find(|(_, node)| leads(node)).map(|(id, _)| *id)
        };
        until("a leader", || find().is_some()).await;
        find().unwrap_or_default()
    }

    pub(super) fn frontier(&self, id: u64) -> Arc<dyn Frontier> {
        self.nodes[&id].frontier()
    }

    /// Waits until all nodes have applied what one has.
    pub(super) async fn same(&self, shard: u64) {
        let applied = |node: &FrontierNode| node.shard_standing(shard).map(|s| s.applied_index);
        until("all have applied the same", || {
            let mut all = self.nodes.values().map(applied);
            let first = all.next().flatten();
            first.is_some() && all.all(|one| one == first)
        })
        .await;
    }

    /// Waits until no node has the older half of a shard's log.
    pub(super) async fn purged(&self, shard: u64) {
        until("the logs are purged", || {
            self.nodes.values().all(|node| {
                let group = node.engine().group(shard);
                group.is_some_and(|group| {
                    let status = group.status();
                    status.purged_index * 2 > status.last_log_index
                })
            })
        })
        .await;
    }

    pub(super) async fn close(self) {
        for node in self.nodes.into_values() {
            node.close().await;
        }
    }
}
