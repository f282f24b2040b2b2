//! `offer`: items of any owners go out in batches by owner, until each has its final answer or the deadline is over.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{DISCOVER_ITEMS, DISCOVER_SIZE_BYTES};
use crate::retry::Retry;
use crate::{CallError, Router};
use futures::StreamExt;
use pb::discover_item::Item;
use pb::discover_result::Code;
use prost::Message;
use proto::frontier_v1 as pb;
use tokio::time::Instant;

/// What became of the items of one [`Router::offer`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offered {
    /// The final answer of each item, in the order they were given; `None` for those without one.
    pub results: Vec<Option<pb::DiscoverResult>>,
    /// The items without an answer, in order. Offering them again is harmless.
    pub undelivered: Vec<pb::DiscoverItem>,
}

/// How one batch ended.
struct BatchEnd {
    /// Positions of its items.
    indexes: Vec<usize>,
    result: Result<pb::DiscoverResponse, CallError>,
}

/// An offer under way.
struct Offer<'a> {
    router: &'a Router,
    items: Vec<pb::DiscoverItem>,
    results: Vec<Option<pb::DiscoverResult>>,
    /// The map was seen to be behind.
    stale: bool,
    /// The longest pause that an answer asked for, ms.
    asked_pause_ms: u64,
    /// Batches have at most so many items; halved while the owner says that they are too large.
    batch_items: usize,
}

impl Router {
    /// Delivers items to their owners: known, new and refused are final answers. Retries what has none, with pauses,
    /// until the deadline of the options.
    pub async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        self.offer_within(items, Duration::from_millis(self.options.offer_deadline_ms))
            .await
    }

    /// As [`Router::offer`], with a time limit of its own.
    pub async fn offer_within(&self, items: Vec<pb::DiscoverItem>, limit: Duration) -> Offered {
        let results = items
            .iter()
            .map(|item| item.item.is_none().then(|| refused("empty_item")))
            .collect();
        let batch_items = DISCOVER_ITEMS;
        let mut offer = Offer {
            router: self,
            items,
            results,
            stale: false,
            asked_pause_ms: 0,
            batch_items,
        };
        let mut retry = Retry::new(Instant::now() + limit, self.options.retry_pause_ms);
        loop {
            let waiting_before = offer.waiting();
            if waiting_before == 0 {
                break;
            }
            offer.round(retry.left()).await;
            let waiting = offer.waiting();
            if waiting == 0 {
                break;
            }
            if waiting < waiting_before {
                retry.progress();
            }
            if !retry.pause(std::mem::take(&mut offer.asked_pause_ms)).await {
                break;
            }
            if std::mem::take(&mut offer.stale)
                && let Err(error) = self.refresh().await
            {
                tracing::warn!(%error, "cannot refresh the shard map");
            }
        }
        offer.end()
    }
}

impl Offer<'_> {
    fn waiting(&self) -> usize {
        self.results
            .iter()
            .filter(|result| result.is_none())
            .count()
    }

    /// Sends everything that has no answer once.
    async fn round(&mut self, limit: Duration) {
        let batches = self.batches();
        let this = &*self;
        let ends: Vec<BatchEnd> = futures::stream::iter(batches)
            .map(|(shard, indexes)| this.send(shard, indexes, limit))
            .buffer_unordered(this.router.options.concurrency.max(1))
            .collect()
            .await;
        for end in ends {
            self.take(end);
        }
    }

    /// The waiting items by owner, in batches within the limits.
    fn batches(&mut self) -> Vec<(u64, Vec<usize>)> {
        let table = self.router.table();
        let mut by_shard: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, item) in self
            .items
            .iter()
            .enumerate()
            .filter(|(index, _)| self.results[*index].is_none())
        {
            match item
                .item
                .as_ref()
                .map(partition)
                .and_then(|hash| table.owner(hash))
            {
                Some(entry) => by_shard.entry(entry.shard).or_default().push(index),
                None => self.stale = true,
            }
        }
        let mut batches = Vec::new();
        for (shard, indexes) in by_shard {
            let (mut batch, mut size_bytes) = (Vec::new(), 0);
            for index in indexes {
                // A field's tag and length add at most ten bytes.
                let item_bytes = self.items[index].encoded_len() + 10;
                if batch.len() >= self.batch_items
                    || (size_bytes + item_bytes > DISCOVER_SIZE_BYTES && size_bytes > 0)
                {
                    batches.push((shard, std::mem::take(&mut batch)));
                    size_bytes = 0;
                }
                batch.push(index);
                size_bytes += item_bytes;
            }
            batches.push((shard, batch));
        }
        batches
    }

    async fn send(&self, shard: u64, indexes: Vec<usize>, limit: Duration) -> BatchEnd {
        let items: Vec<_> = indexes
            .iter()
            .map(|&index| self.items[index].clone())
            .collect();
        let request = pb::DiscoverRequest { shard, items };
        let call = async {
            let _permit = self.router.permits.acquire().await;
            self.router
                .call(shard, |frontier| {
                    let request = request.clone();
                    Box::pin(async move { frontier.discover(request).await })
                })
                .await
        };
        let timed_out = |_| CallError::Unavailable {
            reason: "the offer's deadline is over".into(),
            retry_after_ms: 0,
        };
        let result = tokio::time::timeout(limit, call)
            .await
            .map_err(timed_out)
            .and_then(|result| result);
        BatchEnd { indexes, result }
    }

    fn take(&mut self, end: BatchEnd) {
        match end.result {
            Ok(response) if response.results.len() == end.indexes.len() => {
                for (index, result) in end.indexes.into_iter().zip(response.results) {
                    match result.code() {
                        Code::New | Code::Known | Code::Refused => {
                            self.results[index] = Some(result)
                        }
                        Code::WrongShard | Code::Unspecified => self.stale = true,
                    }
                }
            }
            Ok(_) => tracing::warn!("a discover answer has the wrong number of results"),
            Err(error) => self.take_error(&end.indexes, error),
        }
    }

    /// A retryable error leaves the items waiting; of the rest, what cannot ever be taken is refused.
    fn take_error(&mut self, indexes: &[usize], error: CallError) {
        match error {
            CallError::OverLimit {
                retry_after_ms: 0, ..
            } if indexes.len() > 1 => {
                self.batch_items = (indexes.len() / 2).max(1);
            }
            CallError::OverLimit {
                retry_after_ms: 0,
                limit,
                ..
            } => self.refuse(indexes.first(), &limit),
            CallError::Invalid { index, .. } => {
                let position = usize::try_from(index).unwrap_or(usize::MAX);
                self.refuse(indexes.get(position), "invalid_item");
            }
            CallError::OverLimit { retry_after_ms, .. }
            | CallError::Unavailable { retry_after_ms, .. } => {
                self.asked_pause_ms = self.asked_pause_ms.max(retry_after_ms);
            }
            CallError::WrongShard { .. } => self.stale = true,
            CallError::NotLeader { .. } | CallError::StaleCall { .. } => {}
        }
    }

    fn refuse(&mut self, index: Option<&usize>, reason: &str) {
        if let Some(&index) = index {
            self.results[index] = Some(refused(reason));
        }
    }

    fn end(self) -> Offered {
        let undelivered = self
            .items
            .into_iter()
            .zip(&self.results)
            .filter_map(|(item, result)| result.is_none().then_some(item))
            .collect();
        Offered {
            results: self.results,
            undelivered,
        }
    }
}

/// The hash whose owner takes an item.
pub(crate) const fn partition(item: &Item) -> u64 {
    match item {
        Item::Link(link) => link.partition,
        Item::Errand(errand) => errand.partition,
        Item::ErrandResult(result) => result.origin_partition,
    }
}

fn refused(reason: &str) -> pb::DiscoverResult {
    pb::DiscoverResult {
        code: Code::Refused.into(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
