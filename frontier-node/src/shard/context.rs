//! What all shards of a node share: clocks, the filter, bounds, and what is known of where everything is.

use std::sync::Arc;

use client::CallError;
use raftlog::{FaultHook, NodeId, Rule};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::clock::Clocks;
use crate::cluster::node_number;
use crate::errors::Hints;
use crate::known::KnownFilter;
use crate::metrics::Metrics;
use crate::state::LocalMap;
use crate::work::Work;

/// What all shards of a node share.
#[derive(Clone)]
pub(crate) struct ShardContext {
    /// This process; each group here has a replica id of its own.
    pub(crate) replica: NodeId,
    /// What this node knows of the shard map.
    pub(crate) map: Arc<LocalMap>,
    pub(crate) clocks: Arc<dyn Clocks>,
    pub(crate) filter: Arc<KnownFilter>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hints: Arc<Hints>,
    /// Bytes of calls that wait.
    pub(crate) waiting_bytes: Arc<Semaphore>,
    /// Reads that block a thread.
    pub(crate) blocking: Arc<Semaphore>,
    /// Where they are done.
    pub(crate) work: Work,
    /// Rules that a test switched off.
    pub(crate) faults: Option<Arc<dyn FaultHook>>,
    /// Ends all tasks of the node, or of one of its shards.
    pub(crate) stop: CancellationToken,
}

impl ShardContext {
    /// Whether a test switched a rule off.
    pub(crate) fn is_off(&self, rule: Rule) -> bool {
        self.faults
            .as_ref()
            .is_some_and(|faults| faults.is_off(rule))
    }

    /// Where a replica's node is; empty when unknown.
    pub(crate) fn address(&self, replica: NodeId) -> String {
        let said = self.hints.address(Some(replica));
        if !said.is_empty() {
            return said;
        }
        let by_map = self.map.address(node_number(replica));
        by_map.unwrap_or_default()
    }

    /// Where a shard is by the map: the addresses that are known.
    pub(crate) fn replica_addresses(&self, shard: u64) -> Vec<String> {
        let replicas = self.map.replicas(shard).into_iter();
        let addresses = replicas.map(|replica| self.address(replica));
        addresses.filter(|address| !address.is_empty()).collect()
    }

    /// The answer to whoever asks this node for a shard that others have.
    pub(crate) fn not_here(&self, shard: u64) -> CallError {
        CallError::NotHere {
            map_version: self.map.version(),
            replica_addresses: self.replica_addresses(shard),
        }
    }
}
