//! Links of many pages share a call: what one shard owns is gathered while a call to that shard is under way.
//!
//! Each page waits for its own items only, so a shard that is out of reach holds up no other; and a call that takes long
//! does not hold up the next one to the same shard either.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use client::{Offered, partition_of};
use parking_lot::Mutex;
use proto::frontier_v1 as pb;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument;

use crate::limits::{GATHER_LONGEST_MS, MAX_OFFERED_A_CALL};
use crate::links::Links;

/// Gathers what pages offer.
pub(crate) struct Offers {
    links: Arc<dyn Links>,
    /// By owner; `None`: nobody owns it by the map in use, which the router then reads again.
    shards: Mutex<HashMap<Option<u64>, mpsc::UnboundedSender<Part>>>,
}

/// The items of one offer that one shard owns.
struct Part {
    items: Vec<pb::DiscoverItem>,
    answer: oneshot::Sender<Offered>,
}

/// A part as the offer that waits for it knows it.
struct Awaited {
    /// Where its items stand in the offer.
    places: Vec<usize>,
    items: Vec<pb::DiscoverItem>,
    heard: oneshot::Receiver<Offered>,
}

impl Offers {
    pub(crate) fn new(links: Arc<dyn Links>) -> Self {
        Self {
            links,
            shards: Mutex::default(),
        }
    }

    /// As [`Links::offer`]. Bounded by its callers: each waits for its own items.
    pub(crate) async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        let mut results = vec![None; items.len()];
        let mut undelivered = BTreeMap::new();
        for awaited in self.hand_over(items) {
            let offered = match awaited.heard.await {
                Ok(offered) => offered,
                // Whoever had it has ended: perhaps delivered, and offering it again is harmless.
                Err(_) => Offered {
                    results: vec![None; awaited.items.len()],
                    undelivered: awaited.items,
                },
            };
            let mut rest = offered.undelivered.into_iter();
            for (place, result) in awaited.places.into_iter().zip(offered.results) {
                if result.is_none()
                    && let Some(item) = rest.next()
                {
                    undelivered.insert(place, item);
                }
                results[place] = result;
            }
        }
        Offered {
            results,
            undelivered: undelivered.into_values().collect(),
        }
    }

    /// Gives every shard its part.
    fn hand_over(&self, items: Vec<pb::DiscoverItem>) -> Vec<Awaited> {
        let mut by_owner: BTreeMap<_, (Vec<usize>, Vec<pb::DiscoverItem>)> = BTreeMap::new();
        for (place, item) in items.into_iter().enumerate() {
            let hash = item.item.as_ref().map(partition_of);
            let owner = hash.and_then(|hash| self.links.owner(hash));
            let (places, of_owner) = by_owner.entry(owner).or_default();
            places.push(place);
            of_owner.push(item);
        }
        let awaited = by_owner.into_iter().map(|(owner, (places, items))| {
            let (answer, heard) = oneshot::channel();
            let part = Part {
                items: items.clone(),
                answer,
            };
            self.queue(owner, part);
            Awaited {
                places,
                items,
                heard,
            }
        });
        awaited.collect()
    }

    /// Gives a part to its shard's task, starting one if there is none.
    fn queue(&self, owner: Option<u64>, part: Part) {
        let mut shards = self.shards.lock();
        let part = match shards.get(&owner) {
            Some(queue) => match queue.send(part) {
                Ok(()) => return,
                Err(refused) => refused.0,
            },
            None => part,
        };
        let (queue, parts) = mpsc::unbounded_channel();
        // The receiver is right here: the queue is open.
        let _ = queue.send(part);
        shards.insert(owner, queue);
        drop(shards);
        tokio::spawn(serve(Arc::clone(&self.links), parts).in_current_span());
    }
}

/// The task of one shard: a call with everything that gathered since the last one began.
async fn serve(links: Arc<dyn Links>, mut queue: mpsc::UnboundedReceiver<Part>) {
    while let Some(first) = queue.recv().await {
        let mut count = first.items.len();
        let mut parts = vec![first];
        while count < MAX_OFFERED_A_CALL
            && let Ok(next) = queue.try_recv()
        {
            count += next.items.len();
            parts.push(next);
        }
        let call = tokio::spawn(deliver(Arc::clone(&links), parts).in_current_span());
        // One that takes longer goes on by itself.
        let _ = tokio::time::timeout(Duration::from_millis(GATHER_LONGEST_MS), call).await;
    }
}

/// One call; each part hears of its own items.
async fn deliver(links: Arc<dyn Links>, parts: Vec<Part>) {
    let mut items = Vec::new();
    let mut waiting = Vec::with_capacity(parts.len());
    for part in parts {
        waiting.push((part.items.len(), part.answer));
        items.extend(part.items);
    }
    let offered = links.offer(items).await;
    let mut results = offered.results.into_iter();
    let mut undelivered = offered.undelivered.into_iter();
    for (count, answer) in waiting {
        let results: Vec<_> = results.by_ref().take(count).collect();
        let missing = results.iter().filter(|result| result.is_none()).count();
        let undelivered = undelivered.by_ref().take(missing).collect();
        // A page that was given up does not listen any more.
        let _ = answer.send(Offered {
            results,
            undelivered,
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
#[path = "offers_tests.rs"]
mod tests;
