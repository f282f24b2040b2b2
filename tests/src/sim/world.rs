//! What fetchers and clients share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{CallError, Frontier};
use futures::future::BoxFuture;
use proto::frontier_v1 as pb;
use tokio::sync::watch;
use urlkey::{CanonicalUrl, SuffixList};

use super::copies::Copies;
use super::net::{Net, RemoteFrontier, WORLD};
use super::oracle::Oracle;
use super::plan::Plan;
use super::process::address;
use super::rng::Rng;
use super::shard_map::ShardMap;
use super::splits::Splits;
use super::trace::Trace;
use super::web::Web;
use super::zero::Zero;

/// Longest URL.
const URL_SIZE_BYTES: usize = 8_192;

/// Whom a call is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    /// That shard and no other.
    Shard(u64),
    /// Whoever owns a partition hash.
    Owner(u64),
    /// The shard that granted a lease; whoever owns its hash, if that is another one by now.
    Granter(u64, u64),
}

/// Everything outside the nodes.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) net: Arc<Net>,
    pub(super) trace: Arc<Trace>,
    pub(super) web: Web,
    pub(super) oracle: Oracle,
    /// What group 0 would hold, where replicas move.
    pub(super) zero: Arc<Zero>,
    /// Where nodes hear of it.
    pub(super) copies: Copies,
    /// What group 0 would know of splits.
    pub(super) splits: Splits,
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
    leaders: Mutex<BTreeMap<u64, u64>>,
    /// What fetchers and clients know of the shard map: what answers told them.
    map: watch::Sender<ShardMap>,
    /// Answers that what was asked for is another shard's.
    wrong_shards: AtomicU64,
}

impl World {
    pub(super) fn new(
        plan: Plan,
        net: Arc<Net>,
        trace: Arc<Trace>,
        origin: tokio::time::Instant,
    ) -> Self {
        let zero = Arc::new(Zero::found(&plan, Arc::clone(&trace)));
        Self {
            copies: Copies::default(),
            web: Web::new(Arc::clone(&trace), plan.min_delay_ms),
            oracle: Oracle::new(Arc::clone(&trace)),
            rng: Mutex::new(Rng::new(plan.seed, 4)),
            splits: Splits::new(&plan, &zero),
            zero,
            leaders: Mutex::default(),
            map: watch::Sender::new(ShardMap::founding(plan.shards)),
            wrong_shards: AtomicU64::new(0),
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
        self.draw(|rng| rng.between((1, self.plan.nodes)))
    }

    fn leader(&self, shard: u64) -> u64 {
        *self.leaders.lock().unwrap().get(&shard).unwrap_or(&1)
    }

    fn set_leader(&self, shard: u64, node: u64) {
        self.leaders.lock().unwrap().insert(shard, node);
    }

    /// Where to ask next after an answer that helps no further.
    pub(super) fn learn(&self, shard: u64, asked: u64, error: &CallError) -> u64 {
        let hinted = match error {
            CallError::NotLeader { leader_address } => self.node_at(leader_address),
            CallError::NotHere {
                replica_addresses, ..
            } => {
                let which = self.draw(|rng| rng.below(replica_addresses.len() as u64));
                let address = replica_addresses.get(which as usize);
                address.and_then(|address| self.node_at(address))
            }
            _ => None,
        };
        let next = hinted.filter(|next| *next != asked);
        let next = next.unwrap_or_else(|| self.any_node());
        self.set_leader(shard, next);
        next
    }

    fn node_at(&self, named: &str) -> Option<u64> {
        (1..=self.plan.nodes).find(|node| address(*node) == named)
    }

    /// The node to ask first: whom the last answer named, now and then any.
    pub(super) fn first_node(&self, shard: u64) -> u64 {
        if self.mishap(100) {
            self.any_node()
        } else {
            self.leader(shard)
        }
    }

    /// Asks until there is an answer, at most so often. Where the answer is that another shard owns what was asked for, the map
    /// is asked for, and then that shard.
    pub(super) async fn ask<A>(
        &self,
        to: To,
        tries: u64,
        send: impl Fn(Arc<dyn Frontier>, u64) -> BoxFuture<'static, Result<A, CallError>>,
    ) -> Result<A, CallError> {
        let mut shard = match to {
            To::Shard(shard) | To::Granter(shard, _) => shard,
            To::Owner(hash) => self.owner_or_earlier(hash),
        };
        let mut node = self.first_node(shard);
        let mut tried = 0;
        loop {
            tried += 1;
            match send(Arc::new(self.node(node)), shard).await {
                Ok(answer) => {
                    self.set_leader(shard, node);
                    return Ok(answer);
                }
                Err(error) if !error.is_retryable() || tried == tries => {
                    self.trace
                        .event(format!("gave up on shard {shard}: {error}"));
                    return Err(error);
                }
                Err(CallError::WrongShard { .. }) => {
                    self.is_wrong_shard(shard, node).await;
                    if let To::Owner(hash) | To::Granter(_, hash) = to {
                        shard = self.owner(hash);
                    }
                    node = self.any_node();
                }
                Err(error) => node = self.learn(shard, node, &error),
            }
            self.sleep((20, 400)).await;
        }
    }

    /// The shard that owns a hash, as far as fetchers and clients know.
    pub(super) fn owner(&self, hash: u64) -> u64 {
        self.map.borrow().owner(hash)
    }

    /// The same by somebody who may not have heard of splits.
    pub(super) fn owner_or_earlier(&self, hash: u64) -> u64 {
        if self.plan.splits > 0 && self.mishap(50) {
            ShardMap::founding(self.plan.shards).owner(hash)
        } else {
            self.owner(hash)
        }
    }

    /// The shards that fetchers and clients know of, and each change.
    pub(super) fn map(&self) -> watch::Receiver<ShardMap> {
        self.map.subscribe()
    }

    /// A node answered that a shard is not there, or not the owner: it may know a newer map.
    pub(super) async fn is_wrong_shard(&self, shard: u64, node: u64) {
        self.wrong_shards.fetch_add(1, Ordering::Relaxed);
        self.trace.event(format!("wrong shard {shard} at {node}"));
        self.ask_map(node).await;
    }

    /// How often that was answered.
    pub(super) fn wrong_shards(&self) -> u64 {
        self.wrong_shards.load(Ordering::Relaxed)
    }

    /// Learns what a node knows of the map.
    pub(super) async fn ask_map(&self, node: u64) {
        let request = pb::ShardMapRequest {};
        let Ok(told) = self.node(node).shard_map(request).await else {
            return;
        };
        let told = ShardMap::of(&told);
        if self.map.send_if_modified(|map| map.learn(&told)) {
            let map = self.map.borrow().to_string();
            self.trace.event(format!("{node} tells of {map}"));
        }
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
