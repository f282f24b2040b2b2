//! Counters of an engine, all groups together.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of the counters, since the engine was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineMetrics {
    /// fsyncs of the log.
    pub fsyncs: u64,
    /// Batches written to the log, one fsync each but for those that hold only commit marks.
    pub log_batches: u64,
    /// Entries written to the log.
    pub entries: u64,
    /// Bytes of those entries as stored.
    pub entry_bytes: u64,
    /// Votes written to the log.
    pub votes: u64,
    /// Append requests that were queued; several share a batch.
    pub appends: u64,
    /// Entries applied, replay included.
    pub applied_entries: u64,
    /// Batches written to the state.
    pub state_batches: u64,
    /// Bytes of rows in those batches.
    pub state_bytes: u64,
    /// Flushes of the state that finished.
    pub flushes: u64,
    /// Purges of a group's log.
    pub purges: u64,
    /// Entries removed by them.
    pub purged_entries: u64,
    /// Rounds of proof of leadership.
    pub read_rounds: u64,
    /// Reads that these rounds served.
    pub reads_confirmed: u64,
    /// Snapshots begun to be sent.
    pub snapshots_sent: u64,
    /// Snapshots installed.
    pub snapshots_installed: u64,
    /// Bytes of rows of outgoing snapshots that are in memory now.
    pub snapshot_out_bytes: u64,
    /// The most that they ever were.
    pub snapshot_out_peak_bytes: u64,
    /// Bytes of rows of incoming snapshots that are in memory now.
    pub snapshot_in_bytes: u64,
    /// The most that they ever were.
    pub snapshot_in_peak_bytes: u64,
    /// Failures of the disk that stopped the engine.
    pub disk_failures: u64,
    /// Times that the engine worked again after one.
    pub disk_recoveries: u64,
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The live counters.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            /// Reads all counters. Not one moment: each is exact, their relation is not.
            pub(crate) fn read(&self) -> EngineMetrics {
                EngineMetrics { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters!(
    fsyncs,
    log_batches,
    entries,
    entry_bytes,
    votes,
    appends,
    applied_entries,
    state_batches,
    state_bytes,
    flushes,
    purges,
    purged_entries,
    read_rounds,
    reads_confirmed,
    snapshots_sent,
    snapshots_installed,
    snapshot_out_bytes,
    snapshot_out_peak_bytes,
    snapshot_in_bytes,
    snapshot_in_peak_bytes,
    disk_failures,
    disk_recoveries,
);

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
