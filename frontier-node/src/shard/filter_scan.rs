//! Fills the filter of known URLs with a shard's rows, in the background, after each open or install.

use std::sync::Arc;
use std::time::Duration;

use raftlog::{KeyRange, StateError};

use super::shard::Shared;
use crate::known::{Generation, KnownFilter};
use crate::limits::{FILTER_RETRY_MS, FILTER_SCAN_ROWS};
use crate::state::Extent;

/// A scan for each generation, until the node stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut changes = shared.context.filter.changes();
    let mut done = None;
    loop {
        changes.mark_unchanged();
        let generation = shared
            .context
            .filter
            .generation(shared.parts.shard)
            .filter(|now| Some(*now) != done);
        if let Some(generation) = generation {
            let worker = Arc::clone(&shared);
            let scanned = shared.context.work.run(move || scan(&worker, generation));
            match scanned.await {
                Ok(Ok(true)) => done = Some(generation),
                Ok(Ok(false)) => continue,
                Ok(Err(error)) => {
                    tracing::warn!(shard = shared.parts.shard, %error, "the filter's scan failed; it is tried again");
                    tokio::time::sleep(Duration::from_millis(FILTER_RETRY_MS)).await;
                    continue;
                }
                Err(_) => return,
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// One scan. False when the group was invalidated meanwhile.
fn scan(shared: &Shared, generation: Generation) -> Result<bool, StateError> {
    let filter: &KnownFilter = &shared.context.filter;
    let shard = shared.parts.shard;
    // What a split takes away meanwhile is scanned in vain, and so is everything where no range is known yet.
    let extent = shared.extent().unwrap_or(Extent::WHOLE);
    let end = machine::seen_key(extent.last, u64::MAX);
    let mut range = KeyRange::new(machine::seen_key(extent.first, 0), [end, vec![0]].concat());
    loop {
        if !filter.is_current(shard, generation) {
            return Ok(false);
        }
        let rows = shared.parts.db.scan(&range, FILTER_SCAN_ROWS)?;
        filter.insert(rows.iter().map(|(key, _)| key.as_slice()));
        match rows.last() {
            Some((key, _)) if rows.len() == FILTER_SCAN_ROWS => {
                range.start = [key.as_slice(), &[0]].concat()
            }
            _ => return Ok(filter.complete(shard, generation)),
        }
    }
}
