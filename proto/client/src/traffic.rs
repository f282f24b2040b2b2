//! What coordination costs: calls and bytes between this process and the frontiers, by method.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Counters of everything that one router sent.
#[derive(Debug, Default)]
pub struct Traffic {
    methods: Mutex<BTreeMap<&'static str, MethodTraffic>>,
    leader_losses: AtomicU64,
    dead_shards: AtomicU64,
    map_reads: AtomicU64,
}

/// Of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodTraffic {
    /// Calls sent, repeats included.
    pub calls: u64,
    /// Of these: ended with an error, or were given up.
    pub failed: u64,
    /// Encoded bytes of the requests' messages.
    pub sent_bytes: u64,
    /// Encoded bytes of the answers' messages.
    pub received_bytes: u64,
}

impl Traffic {
    /// The counters by method.
    pub fn methods(&self) -> BTreeMap<&'static str, MethodTraffic> {
        self.methods.lock().clone()
    }

    /// All methods together.
    pub fn total(&self) -> MethodTraffic {
        let mut total = MethodTraffic::default();
        for one in self.methods.lock().values() {
            total.calls += one.calls;
            total.failed += one.failed;
            total.sent_bytes += one.sent_bytes;
            total.received_bytes += one.received_bytes;
        }
        total
    }

    /// How often a shard's leader was looked for anew.
    pub fn leader_losses(&self) -> u64 {
        self.leader_losses.load(Ordering::Relaxed)
    }

    /// How often a shard was given up for a while because nobody led it.
    pub fn dead_shards(&self) -> u64 {
        self.dead_shards.load(Ordering::Relaxed)
    }

    /// How often the shard map was read.
    pub fn map_reads(&self) -> u64 {
        self.map_reads.load(Ordering::Relaxed)
    }

    pub(crate) fn sent(&self, method: &'static str, bytes: usize) {
        let mut methods = self.methods.lock();
        let counts = methods.entry(method).or_default();
        counts.calls += 1;
        // Counted as failed until it is answered: a call that is dropped under way was given up.
        counts.failed += 1;
        counts.sent_bytes += bytes as u64;
    }

    pub(crate) fn received(&self, method: &'static str, bytes: usize) {
        let mut methods = self.methods.lock();
        let counts = methods.entry(method).or_default();
        counts.failed = counts.failed.saturating_sub(1);
        counts.received_bytes += bytes as u64;
    }

    pub(crate) fn leader_lost(&self) {
        self.leader_losses.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn shard_died(&self) {
        self.dead_shards.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn map_read(&self) {
        self.map_reads.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_as_failed_until_it_is_answered() {
        let traffic = Traffic::default();
        traffic.sent("lease", 10);
        traffic.sent("lease", 10);
        traffic.received("lease", 7);
        let lease = MethodTraffic {
            calls: 2,
            failed: 1,
            sent_bytes: 20,
            received_bytes: 7,
        };
        assert_eq!(traffic.methods()["lease"], lease);
        assert_eq!(traffic.total(), lease);
    }
}
