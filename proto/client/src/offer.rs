//! `offer`: items of any owners go out in batches by owner, until each has its final answer or the deadline is over.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::call::Kind;
use crate::limits::{ALIAS_HOPS, DISCOVER_ITEMS, DISCOVER_SIZE_BYTES};
use crate::retry::Retry;
use crate::shard_state::ShardState;
use crate::{CallError, Router};
use futures::StreamExt;
use pb::discover_item::Item;
use pb::discover_result::Code;
use prost::Message;
use proto::frontier_v1 as pb;
use tokio::time::Instant;
use urlkey::CanonicalUrl;
use urlkey::limits::HARD_MAX_URL_BYTES;

/// What became of the items of one [`Router::offer`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offered {
    /// The final answer of each item, in the order they were given; `None` for those without one.
    pub results: Vec<Option<pb::DiscoverResult>>,
    /// The items without an answer, in order. Offering them again is harmless.
    pub undelivered: Vec<pb::DiscoverItem>,
}

impl Router {
    /// Delivers items to their owners: known, new and refused are final answers. A link of a host that is folded into another is
    /// offered again under its new name. Retries what has none, with pauses,
    /// until the deadline of the options. Shards do not wait for each other: what a dead one owns comes back undelivered
    /// once the patience of the options is over, and at once while the shard is known to be dead.
    pub async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        self.offer_within(items, Duration::from_millis(self.options.offer_deadline_ms))
            .await
    }

    /// As [`Router::offer`], with a time limit of its own.
    pub async fn offer_within(&self, mut items: Vec<pb::DiscoverItem>, limit: Duration) -> Offered {
        let deadline = Instant::now() + limit;
        let mut results: Vec<_> = items
            .iter()
            .map(|item| item.item.is_none().then(|| refused("empty_item")))
            .collect();
        let mut retry = Retry::new(deadline, self.options.retry_pause_ms);
        let mut hops: BTreeMap<usize, u32> = BTreeMap::new();
        loop {
            let waiting_before = count_waiting(&results);
            let mut moved = Vec::new();
            let (by_shard, mut is_stale) = self.by_owner(&items, &results);
            let deliveries = by_shard
                .into_iter()
                .map(|(shard, indexes)| Delivery::new(self, shard, &items, indexes).run(deadline));
            for end in futures::future::join_all(deliveries).await {
                is_stale |= end.is_stale;
                for (index, result) in end.answers {
                    results[index] = Some(result);
                }
                moved.extend(end.moved);
            }
            let goes_on = !moved.is_empty() && !is_stale;
            for (index, to) in moved {
                let hops = hops.entry(index).or_default();
                *hops += 1;
                if *hops > ALIAS_HOPS || !self.move_to(&mut items[index], &to) {
                    results[index] = Some(refused("alias_hops"));
                }
            }
            if goes_on {
                continue;
            }
            // Without news of the map, what waits was given up by its shard's delivery.
            if !is_stale || count_waiting(&results) == 0 {
                break;
            }
            if count_waiting(&results) < waiting_before {
                retry.progress();
            }
            if !retry.pause(0).await {
                break;
            }
            if let Err(error) = self.catch_up().await {
                tracing::warn!(%error, "cannot refresh the shard map");
            }
        }
        ended(items, results)
    }

    /// Gives a link of a host that is folded into another its new name; whether that is one.
    fn move_to(&self, item: &mut pb::DiscoverItem, to: &str) -> bool {
        let Some(Item::Link(link)) = &mut item.item else {
            return false;
        };
        let Ok(url) = CanonicalUrl::verify(to, HARD_MAX_URL_BYTES) else {
            return false;
        };
        link.partition = self.partition_of_host(url.host());
        link.url = url.into();
        true
    }

    /// The items without an answer by owner; whether some have no owner by this map.
    fn by_owner(
        &self,
        items: &[pb::DiscoverItem],
        results: &[Option<pb::DiscoverResult>],
    ) -> (BTreeMap<u64, Vec<usize>>, bool) {
        let table = self.table();
        let mut by_shard: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut is_stale = false;
        let waiting = items.iter().enumerate().zip(results);
        for ((index, item), _) in waiting.filter(|(_, result)| result.is_none()) {
            let hash = item.item.as_ref().map(partition_of);
            match hash.and_then(|hash| table.owner(hash)) {
                Some(entry) => by_shard.entry(entry.shard).or_default().push(index),
                None => is_stale = true,
            }
        }
        (by_shard, is_stale)
    }
}

fn count_waiting(results: &[Option<pb::DiscoverResult>]) -> usize {
    results.iter().filter(|result| result.is_none()).count()
}

fn ended(items: Vec<pb::DiscoverItem>, results: Vec<Option<pb::DiscoverResult>>) -> Offered {
    let undelivered = items
        .into_iter()
        .zip(&results)
        .filter_map(|(item, result)| result.is_none().then_some(item))
        .collect();
    Offered {
        results,
        undelivered,
    }
}

/// How the delivery to one shard ended.
#[derive(Default)]
struct DeliveryEnd {
    answers: Vec<(usize, pb::DiscoverResult)>,
    /// Links to be offered under another name.
    moved: Vec<(usize, String)>,
    /// The map was seen to be behind.
    is_stale: bool,
}

/// Items on their way to one shard.
struct Delivery<'a> {
    router: &'a Router,
    shard: u64,
    state: std::sync::Arc<ShardState>,
    items: &'a [pb::DiscoverItem],
    /// Positions of those without an answer.
    waiting: Vec<usize>,
    /// Batches have at most so many items; halved while the owner says that they are too large.
    batch_items: usize,
    /// The longest pause that an answer asked for, ms.
    asked_pause_ms: u64,
    end: DeliveryEnd,
}

impl<'a> Delivery<'a> {
    fn new(
        router: &'a Router,
        shard: u64,
        items: &'a [pb::DiscoverItem],
        waiting: Vec<usize>,
    ) -> Self {
        Self {
            router,
            shard,
            state: router.shard_state(shard),
            items,
            waiting,
            batch_items: DISCOVER_ITEMS,
            asked_pause_ms: 0,
            end: DeliveryEnd::default(),
        }
    }

    /// Goes on until each item has its answer, the map is seen to be behind, or the shard is given up.
    async fn run(mut self, deadline: Instant) -> DeliveryEnd {
        let options = &self.router.options;
        let give_up = Instant::now() + Duration::from_millis(options.offer_patience_ms);
        let mut retry = Retry::new(deadline, options.retry_pause_ms);
        loop {
            let waiting_before = self.waiting.len();
            self.round(deadline).await;
            if self.waiting.is_empty() || self.end.is_stale {
                break;
            }
            if self.waiting.len() < waiting_before {
                retry.progress();
            }
            if self.state.is_dead() && Instant::now() >= give_up {
                break;
            }
            if !retry.pause(std::mem::take(&mut self.asked_pause_ms)).await {
                break;
            }
        }
        self.end
    }

    /// Sends everything that has no answer once.
    async fn round(&mut self, deadline: Instant) {
        let batches = self.batches();
        let this = &*self;
        let ends: Vec<_> = futures::stream::iter(batches)
            .map(|indexes| this.send(indexes, deadline))
            .buffer_unordered(this.router.options.concurrency.max(1))
            .collect()
            .await;
        for (indexes, result) in ends {
            self.take(&indexes, result);
        }
        let answers = self.end.answers.iter().map(|(index, _)| *index);
        let moved = self.end.moved.iter().map(|(index, _)| *index);
        let answered: std::collections::HashSet<usize> = answers.chain(moved).collect();
        self.waiting.retain(|index| !answered.contains(index));
    }

    /// The waiting items in batches within the limits.
    fn batches(&self) -> Vec<Vec<usize>> {
        let mut batches = Vec::new();
        let (mut batch, mut size_bytes) = (Vec::new(), 0);
        for &index in &self.waiting {
            // A field's tag and length add at most ten bytes.
            let item_bytes = self.items[index].encoded_len() + 10;
            if batch.len() >= self.batch_items
                || (size_bytes + item_bytes > DISCOVER_SIZE_BYTES && size_bytes > 0)
            {
                batches.push(std::mem::take(&mut batch));
                size_bytes = 0;
            }
            batch.push(index);
            size_bytes += item_bytes;
        }
        batches.push(batch);
        batches
    }

    async fn send(
        &self,
        indexes: Vec<usize>,
        deadline: Instant,
    ) -> (Vec<usize>, Result<pb::DiscoverResponse, CallError>) {
        let items: Vec<_> = indexes
            .iter()
            .map(|&index| self.items[index].clone())
            .collect();
        let request = pb::DiscoverRequest {
            shard: self.shard,
            items,
        };
        let call = async {
            let place = self.state.window.enter().await;
            let call_ms = Duration::from_millis(self.router.options.call_ms);
            let until = deadline.min(Instant::now() + call_ms);
            let result = self
                .router
                .call_until(self.shard, Kind::LED, until, |frontier| {
                    let request = request.clone();
                    Box::pin(async move { frontier.discover(request).await })
                })
                .await;
            match &result {
                Ok(_) => place.kept_up(),
                Err(CallError::OverLimit { retry_after_ms, .. }) if *retry_after_ms > 0 => {
                    place.overloaded(*retry_after_ms);
                }
                Err(_) => {}
            }
            result
        };
        let timed_out = |_| CallError::Unavailable {
            reason: "the offer's deadline is over".into(),
            retry_after_ms: 0,
        };
        let result = tokio::time::timeout_at(deadline, call)
            .await
            .map_err(timed_out)
            .and_then(|result| result);
        (indexes, result)
    }

    fn take(&mut self, indexes: &[usize], result: Result<pb::DiscoverResponse, CallError>) {
        match result {
            Ok(response) if response.results.len() == indexes.len() => {
                for (&index, result) in indexes.iter().zip(response.results) {
                    match result.code() {
                        Code::New | Code::Known | Code::Refused => {
                            self.end.answers.push((index, result));
                        }
                        Code::Moved => self.end.moved.push((index, result.moved_to)),
                        Code::WrongShard | Code::Unspecified => self.end.is_stale = true,
                    }
                }
            }
            Ok(_) => tracing::warn!("a discover answer has the wrong number of results"),
            Err(error) => self.take_error(indexes, error),
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
            CallError::WrongShard { .. } | CallError::NotHere { .. } => self.end.is_stale = true,
            CallError::NotLeader { .. } | CallError::StaleCall { .. } => {}
        }
    }

    fn refuse(&mut self, index: Option<&usize>, reason: &str) {
        if let Some(&index) = index {
            self.end.answers.push((index, refused(reason)));
        }
    }
}

/// The hash whose owner takes an item.
pub const fn partition_of(item: &Item) -> u64 {
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
        ..pb::DiscoverResult::default()
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
