//! Links out: the sink they go to, and a memory of those it has acknowledged.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;

use client::{Offered, Router};
use lru::LruCache;
use parking_lot::Mutex;
use proto::frontier_v1 as pb;

/// The cluster as a router sees it: delivery to owners, and the shard map.
#[async_trait::async_trait]
pub trait Links: Send + Sync + 'static {
    /// Delivers items to their owners within a deadline of its own; what nobody answered comes back.
    async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered;
    /// The shards of the map in use.
    fn shards(&self) -> Vec<pb::ShardEntry>;
    /// The shard that owns a partition hash.
    fn owner(&self, partition: u64) -> Option<u64>;
    /// Reads the map again because an answer showed that it is behind; keeps the old one if nobody answers.
    async fn refresh(&self);
    /// Version of the map in use.
    fn map_version(&self) -> u64 {
        0
    }
    /// Returns when a newer map than this one is in use.
    async fn newer_than(&self, _version: u64) {
        std::future::pending().await
    }
    /// The partition hash of a canonical host.
    fn partition_of_host(&self, host: &str) -> u64;
}

#[async_trait::async_trait]
impl Links for Router {
    async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        Router::offer(self, items).await
    }

    fn shards(&self) -> Vec<pb::ShardEntry> {
        Router::shards(self)
    }

    fn owner(&self, partition: u64) -> Option<u64> {
        Router::owner(self, partition)
    }

    async fn refresh(&self) {
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
    }

    fn map_version(&self) -> u64 {
        Router::map_version(self)
    }

    async fn newer_than(&self, version: u64) {
        Router::newer_than(self, version).await;
    }

    fn partition_of_host(&self, host: &str) -> u64 {
        Router::partition_of_host(self, host)
    }
}

/// Acknowledged links, as 64-bit hashes under a key of this process. It only spares messages: forgetting is harmless.
pub struct KnownLinks {
    hasher: RandomState,
    seen: Option<Mutex<LruCache<u64, ()>>>,
}

impl KnownLinks {
    /// Remembers at most so many; 0 = none.
    #[must_use]
    pub fn new(entries: usize) -> Self {
        let seen = NonZeroUsize::new(entries).map(|entries| Mutex::new(LruCache::new(entries)));
        Self {
            hasher: RandomState::new(),
            seen,
        }
    }

    /// Whether an owner has acknowledged this link of a crawl.
    #[must_use]
    pub fn contains(&self, crawl: u32, url: &str) -> bool {
        let hash = self.hasher.hash_one((crawl, url));
        self.seen
            .as_ref()
            .is_some_and(|seen| seen.lock().get(&hash).is_some())
    }

    /// An owner has acknowledged it.
    pub fn insert(&self, crawl: u32, url: &str) {
        let hash = self.hasher.hash_one((crawl, url));
        if let Some(seen) = &self.seen {
            seen.lock().put(hash, ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_by_crawl_and_within_bounds() {
        let known = KnownLinks::new(2);
        known.insert(1, "http://a.example/");
        assert!(known.contains(1, "http://a.example/"));
        assert!(!known.contains(2, "http://a.example/"));
        known.insert(1, "http://b.example/");
        known.insert(1, "http://c.example/");
        assert!(!known.contains(1, "http://a.example/"));
        let none = KnownLinks::new(0);
        none.insert(1, "http://a.example/");
        assert!(!none.contains(1, "http://a.example/"));
    }
}
