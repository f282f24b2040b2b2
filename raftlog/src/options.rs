//! Options of an engine, with their defaults and bounds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::errors::OpenError;
use crate::fault::FaultHook;
use crate::ids::NodeId;
use crate::threads::Threads;

/// Timing of elections and heartbeats, all groups alike.
#[derive(Debug, Clone)]
pub struct RaftTiming {
    /// A leader's heartbeat, in milliseconds.
    pub heartbeat_ms: u64,
    /// Shortest election timeout, in milliseconds. Above twice the heartbeat.
    pub election_min_ms: u64,
    /// Longest election timeout, in milliseconds.
    pub election_max_ms: u64,
}

impl Default for RaftTiming {
    fn default() -> Self {
        Self {
            heartbeat_ms: 240,
            election_min_ms: 500,
            election_max_ms: 800,
        }
    }
}

/// A monotonic clock.
pub type Monotonic = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Options of an engine: one per process, for all groups of the node.
#[derive(Clone)]
pub struct EngineOptions {
    /// Directory of the two databases, `log` and `state`; made if it is missing.
    pub dir: PathBuf,
    /// This node. A directory keeps the id it was made with.
    pub node_id: NodeId,
    /// Bytes of applied entries, all groups together, after which the state is flushed.
    pub flush_size_bytes: u64,
    /// Longest time that applied entries stay unflushed, in milliseconds.
    pub flush_interval_ms: u64,
    /// Most entries that a group's log keeps below its flushed applied index, for whoever may come back.
    pub log_keep_entries: u64,
    /// Most bytes that a group's log keeps below its flushed applied index, for whoever may come back.
    pub log_keep_size_bytes: u64,
    /// Most entries that a leader keeps while a live follower lacks them;
    /// [`TRANSFER_HOLD_FACTOR`](crate::limits::TRANSFER_HOLD_FACTOR) times as many for one that is fed a snapshot.
    pub log_hold_entries: u64,
    /// Most bytes that a leader keeps while a live follower lacks them, and as many times as much.
    pub log_hold_size_bytes: u64,
    /// Timing of elections.
    pub timing: RaftTiming,
    /// Block cache of the state database, in bytes: the bound on what reading rows keeps in memory.
    pub block_cache_size_bytes: usize,
    /// Block cache of the log database, in bytes. The newest entries are kept apart from it.
    pub log_cache_size_bytes: usize,
    /// One memtable of the state database, in bytes. Two may exist at a time.
    pub memtable_size_bytes: usize,
    /// RocksDB's own bloom filter on rows, in bits a key. `None`: no filter, for a filter in front serves.
    pub bloom_bits_per_key: Option<f64>,
    /// Open files of the state database; -1 is no bound.
    pub max_open_files: i32,
    /// Background threads for flush and compaction, of both databases together.
    pub background_threads: i32,
    /// Threads that apply entries. A group always uses the same one.
    pub apply_threads: usize,
    /// Space that must be free on the device for proposals to be accepted, in bytes.
    pub min_free_bytes: u64,
    /// Pause between attempts to work again after a disk failure, in milliseconds.
    pub recover_interval_ms: u64,
    /// Injected disk faults, for tests and drills.
    pub faults: Option<Arc<dyn FaultHook>>,
    /// Stamps the receipt of entries, [`LastReceived::received`](crate::LastReceived).
    pub monotonic: Monotonic,
    /// What does the work that blocks.
    pub threads: Threads,
}

impl EngineOptions {
    /// Options with all defaults.
    pub fn new(dir: impl Into<PathBuf>, node_id: NodeId) -> Self {
        Self {
            dir: dir.into(),
            node_id,
            flush_size_bytes: 32 * 1024 * 1024,
            flush_interval_ms: 30_000,
            log_keep_entries: 10_000,
            log_keep_size_bytes: 128 * 1024 * 1024,
            log_hold_entries: 20_000,
            log_hold_size_bytes: 256 * 1024 * 1024,
            timing: RaftTiming::default(),
            block_cache_size_bytes: 256 * 1024 * 1024,
            log_cache_size_bytes: 8 * 1024 * 1024,
            memtable_size_bytes: 64 * 1024 * 1024,
            bloom_bits_per_key: None,
            max_open_files: 1024,
            background_threads: 2,
            apply_threads: 2,
            min_free_bytes: 128 * 1024 * 1024,
            recover_interval_ms: 1000,
            faults: None,
            monotonic: Arc::new(Instant::now),
            threads: Threads::Real,
        }
    }

    /// Checks the bounds of every option.
    pub fn validate(&self) -> Result<(), OpenError> {
        let timing = &self.timing;
        bound("node_id", self.node_id > 0, "must not be 0")?;
        bound(
            "flush_size_bytes",
            self.flush_size_bytes > 0,
            "must not be 0",
        )?;
        bound(
            "flush_interval_ms",
            self.flush_interval_ms > 0,
            "must not be 0",
        )?;
        bound(
            "log_keep_size_bytes",
            self.log_keep_size_bytes > 0,
            "must not be 0",
        )?;
        bound(
            "log_hold_size_bytes",
            self.log_hold_size_bytes > 0,
            "must not be 0",
        )?;
        bound(
            "memtable_size_bytes",
            self.memtable_size_bytes >= 64 * 1024,
            "at least 64 KiB",
        )?;
        bound(
            "background_threads",
            (1..=64).contains(&self.background_threads),
            "1 to 64",
        )?;
        bound(
            "apply_threads",
            (1..=256).contains(&self.apply_threads),
            "1 to 256",
        )?;
        bound(
            "recover_interval_ms",
            self.recover_interval_ms > 0,
            "must not be 0",
        )?;
        bound(
            "timing.heartbeat_ms",
            timing.heartbeat_ms > 0,
            "must not be 0",
        )?;
        bound(
            "timing.election_min_ms",
            timing.election_min_ms > 2 * timing.heartbeat_ms,
            "above twice heartbeat_ms",
        )?;
        bound(
            "timing.election_max_ms",
            timing.election_max_ms > timing.election_min_ms,
            "above election_min_ms",
        )?;
        let bits = self.bloom_bits_per_key.unwrap_or(10.0);
        bound(
            "bloom_bits_per_key",
            (1.0..=64.0).contains(&bits),
            "1 to 64",
        )
    }
}

fn bound(name: &'static str, holds: bool, reason: &str) -> Result<(), OpenError> {
    if holds {
        Ok(())
    } else {
        Err(OpenError::BadOption {
            name,
            reason: reason.to_owned(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_a_bad_option_is_named() {
        let options = EngineOptions::new("x", 1);
        options.validate().unwrap();
        let bad = EngineOptions {
            apply_threads: 0,
            ..options
        };
        assert!(
            bad.validate()
                .unwrap_err()
                .to_string()
                .contains("apply_threads")
        );
    }
}
