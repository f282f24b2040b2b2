//! Rows of snapshots in memory, counted: on their way out until the transport asks for more, on their way in until
//! they are in a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ChunkRows;
use crate::metrics::Counters;

/// Which way rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
}

/// Bytes that are held until this is dropped.
pub(crate) struct Held {
    counters: Arc<Counters>,
    way: Way,
    size_bytes: u64,
}

impl Held {
    pub(crate) fn new(counters: &Arc<Counters>, way: Way, size_bytes: usize) -> Self {
        let held = Self {
            counters: Arc::clone(counters),
            way,
            size_bytes: size_bytes as u64,
        };
        let (now, peak) = held.gauges();
        let now = now.fetch_add(held.size_bytes, Ordering::Relaxed) + held.size_bytes;
        peak.fetch_max(now, Ordering::Relaxed);
        held
    }

    fn gauges(&self) -> (&AtomicU64, &AtomicU64) {
        let counters = &self.counters;
        match self.way {
            Way::Out => (
                &counters.snapshot_out_bytes,
                &counters.snapshot_out_peak_bytes,
            ),
            Way::In => (
                &counters.snapshot_in_bytes,
                &counters.snapshot_in_peak_bytes,
            ),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gauges()
            .0
            .fetch_sub(self.size_bytes, Ordering::Relaxed);
    }
}

/// Rows of one chunk, counted.
pub(crate) struct HeldRows {
    pub(crate) rows: ChunkRows,
    pub(crate) held: Held,
}

impl HeldRows {
    pub(crate) fn new(counters: &Arc<Counters>, way: Way, rows: ChunkRows) -> Self {
        let sizes = rows.iter().map(|row| row.key.len() + row.value.len());
        let held = Held::new(counters, way, sizes.sum());
        Self { rows, held }
    }
}
