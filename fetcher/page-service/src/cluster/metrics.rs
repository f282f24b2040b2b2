//! Counts of a cluster of stores.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was done since the cluster was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterMetrics {
    /// Pages put, whatever became of them.
    pub puts: u64,
    /// Copies that became durable.
    pub copies: u64,
    /// Payload bytes sent: a copy whose bytes were known cost none.
    pub sent_payload_bytes: u64,
    /// Puts to one store that failed, so that another one got the page.
    pub failed_copies: u64,
    /// Pages that fewer stores than copies took.
    pub unavailable: u64,
    /// Stores asked whether they are back.
    pub probes: u64,
    /// Copies that could not be read, so that another one was.
    pub failed_reads: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    puts: AtomicU64,
    copies: AtomicU64,
    failed_copies: AtomicU64,
    unavailable: AtomicU64,
    probes: AtomicU64,
    failed_reads: AtomicU64,
}

impl Counters {
    pub(crate) fn put(&self) {
        self.puts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn copy(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed_copy(&self) {
        self.failed_copies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unavailable(&self) {
        self.unavailable.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn probe(&self) {
        self.probes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed_reads(&self, count: usize) {
        self.failed_reads.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, sent_payload_bytes: u64) -> ClusterMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClusterMetrics {
            puts: get(&self.puts),
            copies: get(&self.copies),
            sent_payload_bytes,
            failed_copies: get(&self.failed_copies),
            unavailable: get(&self.unavailable),
            probes: get(&self.probes),
            failed_reads: get(&self.failed_reads),
        }
    }
}
