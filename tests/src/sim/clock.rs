//! Clocks of processes, made of the virtual time of their runtimes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use frontier_node::Clocks;

/// Unix time at the start of a run, ms.
const WALL_START_UNIX_MS: u64 = 1_800_000_000_000;

/// A duration as a clock shows it that is so many parts per million off.
fn at_rate(passed: Duration, ppm: i64) -> Duration {
    let nanos = i128::try_from(passed.as_nanos()).unwrap();
    let shown = nanos + nanos * i128::from(ppm) / 1_000_000;
    Duration::from_nanos(u64::try_from(shown).unwrap())
}

/// The clocks of one life of a node: a rate of its own, a wall clock that is wrong and jumps.
pub(super) struct NodeClocks {
    pub(super) origin: tokio::time::Instant,
    pub(super) ppm: i64,
    /// True time at the origin, with what the process has slept through since.
    pub(super) true_start_ms: Arc<AtomicU64>,
    pub(super) wall_offset_ms: Arc<AtomicI64>,
}

impl NodeClocks {
    /// Monotonic time. Asked inside the node's runtime.
    pub(super) fn monotonic(&self) -> Instant {
        self.origin.into_std() + at_rate(self.origin.elapsed(), self.ppm)
    }
}

impl Clocks for NodeClocks {
    fn now(&self) -> Instant {
        self.monotonic()
    }

    fn wall_unix_ms(&self) -> u64 {
        let passed_ms = u64::try_from(self.origin.elapsed().as_millis()).unwrap();
        let true_ms = self.true_start_ms.load(Ordering::Relaxed) + passed_ms;
        (WALL_START_UNIX_MS + true_ms)
            .saturating_add_signed(self.wall_offset_ms.load(Ordering::Relaxed))
    }
}

/// The clock of a fetcher. It runs on while the machine sleeps.
#[derive(Clone, Copy)]
pub(super) struct FetcherClock {
    pub(super) origin: tokio::time::Instant,
    pub(super) ppm: i64,
}

impl FetcherClock {
    /// Milliseconds since the start.
    pub(super) fn now_ms(self) -> u64 {
        u64::try_from(at_rate(self.origin.elapsed(), self.ppm).as_millis()).unwrap()
    }
}
