//! What fetchers and clients share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{CallError, Frontier};
use futures::future::BoxFuture;
use proto::frontier_v1 as pb;
use urlkey::{CanonicalUrl, SuffixList};

use super::net::{Net, RemoteFrontier, WORLD};
use super::oracle::Oracle;
use super::plan::{NODES, Plan};
use super::process::address;
use super::rng::Rng;
use super::trace::Trace;
use super::web::Web;

/// Longest URL.
const URL_SIZE_BYTES: usize = 8_192;

/// Everything outside the nodes.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) net: Arc<Net>,
    pub(super) trace: Arc<Trace>,
    pub(super) web: Web,
    pub(super) oracle: Oracle,
    /// Start of true time.
    pub(super) origin: tokio::time::Instant,
    /// The crawls are set up and their first page is in: faults may begin.
    pub(super) is_set_up: AtomicBool,
    /// All first pages were offered.
    pub(super) is_seeded: AtomicBool,
    /// No more faults: fetchers behave.
    pub(super) is_healed: AtomicBool,
    /// The end was judged.
    pub(super) is_over: AtomicBool,
    rng: Mutex<Rng>,
    /// Which node led a shard last, as far as is known.
    leaders: Mutex<Vec<u64>>,
}

impl World {
    pub(super) fn new(
        plan: Plan,
        net: Arc<Net>,
        trace: Arc<Trace>,
        origin: tokio::time::Instant,
    ) -> Self {
        Self {
            web: Web::new(Arc::clone(&trace), plan.min_delay_ms),
            oracle: Oracle::new(Arc::clone(&trace)),
            rng: Mutex::new(Rng::new(plan.seed, 4)),
            leaders: Mutex::new(vec![1; plan.shards as usize + 1]),
            is_set_up: AtomicBool::new(false),
            is_seeded: AtomicBool::new(false),
            is_healed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            plan,
            net,
            trace,
            origin,
        }
    }

    pub(super) fn is_healed(&self) -> bool {
        self.is_healed.load(Ordering::Relaxed)
    }

    /// True time, ms. Asked inside the world's runtime.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap()
    }

    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.rng.lock().unwrap())
    }

    /// True so many times in a thousand while faults go on.
    pub(super) fn mishap(&self, permille: u64) -> bool {
        let is_drawn = self.draw(|rng| rng.chance(permille));
        is_drawn && !self.is_healed()
    }

    pub(super) async fn sleep(&self, range_ms: (u64, u64)) {
        let ms = self.draw(|rng| rng.between(range_ms));
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// The process is held up for a moment, now and then for long.
    pub(super) async fn think(&self, longest_ms: u64) {
        if self.mishap(60) {
            self.sleep((1, longest_ms)).await;
        }
    }

    pub(super) fn node(&self, to: u64) -> RemoteFrontier {
        RemoteFrontier {
            net: Arc::clone(&self.net),
            from: WORLD,
            to,
            may_repeat: true,
        }
    }

    pub(super) fn any_node(&self) -> u64 {
        self.draw(|rng| rng.between((1, NODES)))
    }

    fn leader(&self, shard: u64) -> u64 {
        self.leaders.lock().unwrap()[shard as usize]
    }

    fn set_leader(&self, shard: u64, node: u64) {
        self.leaders.lock().unwrap()[shard as usize] = node;
    }

    /// Where to ask next after an answer that helps no further.
    pub(super) fn learn(&self, shard: u64, asked: u64, error: &CallError) -> u64 {
        let hinted = match error {
            CallError::NotLeader { leader_address } => {
                (1..=NODES).find(|node| address(*node) == *leader_address)
            }
            _ => None,
        };
        let next = hinted.filter(|next| *next != asked);
        let next = next.unwrap_or_else(|| self.any_node());
        self.set_leader(shard, next);
        next
    }

    /// The node to ask first: whom the last answer named, now and then any.
    pub(super) fn first_node(&self, shard: u64) -> u64 {
        if self.mishap(100) {
            self.any_node()
        } else {
            self.leader(shard)
        }
    }

    /// Asks until there is an answer, at most so often.
    pub(super) async fn ask<A>(
        &self,
        shard: u64,
        tries: u64,
        send: impl Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<A, CallError>>,
    ) -> Result<A, CallError> {
        let mut node = self.first_node(shard);
        let mut tried = 0;
        loop {
            tried += 1;
            match send(Arc::new(self.node(node))).await {
                Ok(answer) => {
                    self.set_leader(shard, node);
                    return Ok(answer);
                }
                Err(error) if !error.is_retryable() || tried == tries => {
                    self.trace
                        .event(format!("gave up on shard {shard}: {error}"));
                    return Err(error);
                }
                Err(error) => node = self.learn(shard, node, &error),
            }
            self.sleep((20, 400)).await;
        }
    }

    /// The shard that owns a URL.
    pub(super) fn owner(&self, url: &str) -> u64 {
        let hash = partition(url);
        frontier_node::equal_ranges(self.plan.shards)
            .iter()
            .find(|range| (range.first..=range.last).contains(&hash))
            .unwrap()
            .shard
    }
}

/// The partition hash of a URL.
pub(super) fn partition(url: &str) -> u64 {
    let url = CanonicalUrl::verify(url, URL_SIZE_BYTES).unwrap();
    urlkey::partition_hash(&SuffixList::shipped().site(url.host())).0
}

/// The host of a URL.
pub(super) fn host(url: &str) -> String {
    CanonicalUrl::verify(url, URL_SIZE_BYTES)
        .unwrap()
        .host()
        .to_string()
}

/// A link, as it is offered.
pub(super) fn link(crawl: u32, url: &str) -> pb::DiscoverItem {
    pb::DiscoverItem {
        item: Some(pb::discover_item::Item::Link(pb::Link {
            crawl,
            url: url.to_owned(),
            partition: partition(url),
            priority: 100,
            ..Default::default()
        })),
    }
}
