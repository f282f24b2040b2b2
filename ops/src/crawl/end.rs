//! When a run is over.

use proto::frontier_v1::ShardStatusResponse;
use std::time::Duration;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing is left.
    Finished,
    /// As many pages as were asked for.
    MaxPages,
    /// What is left waits longer than the patience: robots out of reach, long back-off, a budget.
    Waiting,
    /// The person asked for it.
    Stopped,
}

impl End {
    /// Its name in the summary.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::MaxPages => "max_pages",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }
}

/// The end that the shards' counters show, if any.
pub fn reached(
    shards: &[ShardStatusResponse],
    stored: u64,
    max_pages: Option<u64>,
    patience: Duration,
) -> Option<End> {
    if max_pages.is_some_and(|most| stored >= most) {
        return Some(End::MaxPages);
    }
    let terms = || shards.iter().filter_map(|shard| shard.terms.as_ref());
    // Of every kind: a host whose robots.txt is being fetched is not idle.
    let leased: u64 = shards
        .iter()
        .filter_map(|shard| shard.ready.as_ref())
        .map(|ready| ready.leased)
        .sum();
    let waiting: u64 = terms().map(|t| t.queued + t.scheduled).sum();
    let outbox: u64 = shards.iter().map(|shard| shard.outbox_waiting).sum();
    if leased == 0 && waiting == 0 && outbox == 0 {
        return Some(End::Finished);
    }
    let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    let idle = shards
        .iter()
        .all(|shard| shard.next_ready_in_ms > patience_ms);
    (leased == 0 && outbox == 0 && idle).then_some(End::Waiting)
}
