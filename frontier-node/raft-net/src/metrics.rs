//! Counters of a transport, since it was made.

use std::sync::atomic::{AtomicU64, Ordering};

/// Messages of one kind, requests and their replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindMetrics {
    /// Requests handed to a connection.
    pub sent: u64,
    /// Their payloads, in bytes.
    pub sent_bytes: u64,
    /// Replies.
    pub received: u64,
    /// Their payloads, in bytes.
    pub received_bytes: u64,
}

/// All counters of a transport.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetMetrics {
    /// Votes, pre-votes and transfer requests.
    pub calls: KindMetrics,
    /// Heartbeats, one by one.
    pub heartbeats: KindMetrics,
    /// Append requests.
    pub appends: KindMetrics,
    /// Snapshot chunks, and one reply a snapshot.
    pub snapshots: KindMetrics,
    /// Messages that carried heartbeats.
    pub heartbeat_batches: u64,
    /// Pings, and their answers.
    pub pings: KindMetrics,
    /// Connections asked for, of links and lanes.
    pub dials: u64,
    /// Those that failed, for whatever reason.
    pub dials_failed: u64,
    /// Times a link that had been open was dialled again.
    pub redials: u64,
    /// Deaths of peers that were published.
    pub refused: u64,
}

/// Counters of one kind while they count.
#[derive(Debug, Default)]
pub(crate) struct KindCounters {
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    received: AtomicU64,
    received_bytes: AtomicU64,
}

impl KindCounters {
    pub(crate) fn sent(&self, size_bytes: usize) {
        add(&self.sent, 1);
        add(&self.sent_bytes, size_bytes as u64);
    }

    pub(crate) fn received(&self, size_bytes: usize) {
        add(&self.received, 1);
        add(&self.received_bytes, size_bytes as u64);
    }

    fn read(&self) -> KindMetrics {
        KindMetrics {
            sent: get(&self.sent),
            sent_bytes: get(&self.sent_bytes),
            received: get(&self.received),
            received_bytes: get(&self.received_bytes),
        }
    }
}

/// All counters while they count.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: KindCounters,
    pub(crate) heartbeats: KindCounters,
    pub(crate) appends: KindCounters,
    pub(crate) snapshots: KindCounters,
    pub(crate) pings: KindCounters,
    pub(crate) heartbeat_batches: AtomicU64,
    pub(crate) dials: AtomicU64,
    pub(crate) dials_failed: AtomicU64,
    pub(crate) redials: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// Counts up.
pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counters {
    pub(crate) fn read(&self) -> NetMetrics {
        NetMetrics {
            calls: self.calls.read(),
            heartbeats: self.heartbeats.read(),
            appends: self.appends.read(),
            snapshots: self.snapshots.read(),
            heartbeat_batches: get(&self.heartbeat_batches),
            pings: self.pings.read(),
            dials: get(&self.dials),
            dials_failed: get(&self.dials_failed),
            redials: get(&self.redials),
            refused: get(&self.refused),
        }
    }
}
