//! The open shards, by number.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::shard::Shard;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Shards(RwLock<BTreeMap<u64, Arc<Shard>>>);

impl Shards {
    pub(crate) fn get(&self, shard: u64) -> Option<Arc<Shard>> {
        self.0.read().get(&shard).cloned()
    }

    /// All of them, by number.
    pub(crate) fn all(&self) -> Vec<Arc<Shard>> {
        self.0.read().values().cloned().collect()
    }

    /// Their numbers.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.0.read().keys().copied().collect()
    }

    pub(crate) fn insert(&self, shard: Arc<Shard>) {
        self.0.write().insert(shard.id(), shard);
    }

    pub(crate) fn remove(&self, shard: u64) {
        self.0.write().remove(&shard);
    }
}
