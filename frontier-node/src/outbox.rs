//! The outbox: items whose owner could not be reached when a page was reported are delivered by the leader.
//!
//! Rows stay until their owner gave a final answer for each, then a `deliver` command removes them. A dead owner is left
//! alone for a while, so that its rows do not hold up those of others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::{CallError, Router};
use machine::Body;
use machine::command::deliver::Deliver;
use machine::command::discover::{Item, ItemKind};
use tokio::time::Instant;

use crate::convert::item_to_wire;
use crate::errors::unavailable;
use crate::limits::{OUTBOX_BACK_OFF_MS, OUTBOX_INTERVAL_MS, OUTBOX_OFFER_MS, OUTBOX_ROWS};
use crate::metrics::Metrics;
use crate::shard::Shard;

/// Delivers one shard's outbox while this replica leads it.
pub(crate) struct OutboxTask {
    shard: Arc<Shard>,
    router: Arc<Router>,
    metrics: Arc<Metrics>,
    back_off: BackOff,
}

/// Owners that did not answer: until when they are left alone, and for how long next time.
#[derive(Debug, Default)]
struct BackOff {
    owners: BTreeMap<Option<u64>, (Instant, u64)>,
}

impl BackOff {
    fn is_waiting(&self, owner: Option<u64>, now: Instant) -> bool {
        self.owners
            .get(&owner)
            .is_some_and(|(until, _)| now < *until)
    }

    fn failed(&mut self, owner: Option<u64>, now: Instant) {
        let (first_ms, longest_ms) = OUTBOX_BACK_OFF_MS;
        let pause_ms = self
            .owners
            .get(&owner)
            .map_or(first_ms, |(_, last_ms)| (last_ms * 2).min(longest_ms));
        self.owners
            .insert(owner, (now + Duration::from_millis(pause_ms), pause_ms));
    }

    fn answered(&mut self, owner: Option<u64>) {
        self.owners.remove(&owner);
    }
}

impl OutboxTask {
    pub(crate) fn new(shard: Arc<Shard>, router: Arc<Router>, metrics: Arc<Metrics>) -> Self {
        Self {
            shard,
            router,
            metrics,
            back_off: BackOff::default(),
        }
    }

    /// Looks for rows from time to time; at once again after a full round.
    pub(crate) async fn run(mut self) {
        loop {
            let more = match self.round().await {
                Ok(delivered) => delivered == OUTBOX_ROWS,
                Err(error) => {
                    tracing::debug!(shard = self.shard.id(), %error, "outbox round failed");
                    false
                }
            };
            if !more {
                tokio::time::sleep(Duration::from_millis(OUTBOX_INTERVAL_MS)).await;
            }
        }
    }

    /// One round; how many rows were delivered.
    pub(crate) async fn round(&mut self) -> Result<usize, CallError> {
        if self.shard.leading().is_err() {
            return Ok(0);
        }
        let due = self.shard.look(|machine, rows, _| {
            if machine.status().outbox.waiting == 0 {
                Ok(Vec::new())
            } else {
                machine.outbox_due(rows, OUTBOX_ROWS)
            }
        });
        let due = due.await?.map_err(|error| unavailable(error.to_string()))?;
        let now = Instant::now();
        let (keys, items): (Vec<_>, Vec<_>) = due
            .into_iter()
            .filter(|(_, item)| !self.back_off.is_waiting(self.owner(item), now))
            .filter_map(|(key, item)| Some(((key, self.owner(&item)), item_to_wire(item)?)))
            .unzip();
        if keys.is_empty() {
            return Ok(0);
        }
        let offered = self
            .router
            .offer_within(items, Duration::from_millis(OUTBOX_OFFER_MS))
            .await;
        let mut delivered = Vec::new();
        for ((key, owner), result) in keys.into_iter().zip(offered.results) {
            if result.is_some() {
                delivered.push(key);
                self.back_off.answered(owner);
            } else {
                self.metrics.outbox_deferred.inc();
                if !self.back_off.is_waiting(owner, now) {
                    self.back_off.failed(owner, now);
                }
            }
        }
        let count = delivered.len();
        if count > 0 {
            self.shard
                .submit(Body::Deliver(Deliver { keys: delivered }))
                .await?;
            self.metrics.outbox_delivered.inc_by(count as u64);
        }
        Ok(count)
    }

    fn owner(&self, item: &Item) -> Option<u64> {
        let partition = match item.kind.as_ref()? {
            ItemKind::Link(link) => link.partition,
            ItemKind::Errand(errand) => errand.partition,
            ItemKind::ErrandResult(result) => result.origin_partition,
        };
        self.router.owner(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_owner_is_left_alone_longer_and_longer() {
        let mut back_off = BackOff::default();
        let now = Instant::now();
        assert!(!back_off.is_waiting(Some(1), now));
        back_off.failed(Some(1), now);
        assert!(back_off.is_waiting(Some(1), now) && !back_off.is_waiting(Some(2), now));
        let later = now + Duration::from_millis(OUTBOX_BACK_OFF_MS.0);
        assert!(!back_off.is_waiting(Some(1), later));
        back_off.failed(Some(1), later);
        assert!(back_off.is_waiting(Some(1), later + Duration::from_millis(OUTBOX_BACK_OFF_MS.0)));
        for _ in 0..20 {
            back_off.failed(Some(1), later);
        }
        assert!(!back_off.is_waiting(Some(1), later + Duration::from_millis(OUTBOX_BACK_OFF_MS.1)));
        back_off.answered(Some(1));
        assert!(!back_off.is_waiting(Some(1), later));
    }
}
