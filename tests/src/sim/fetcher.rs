//! A model fetcher: numbered lease calls to one shard after another, each lease's life in a task of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;
use tokio::task::JoinSet;

use super::bug::Bug;
use super::clock::FetcherClock;
use super::fetch::Held;
use super::world::World;

/// Leases that one fetcher holds of one shard at a time.
const SLOTS: usize = 4;

/// One fetcher process. Dropping its tasks is its death.
pub(super) struct Fetcher {
    pub(super) world: Arc<World>,
    /// Never used before.
    pub(super) session: u64,
    pub(super) clock: FetcherClock,
}

impl Fetcher {
    fn session_bytes(&self) -> Vec<u8> {
        [self.session.to_be_bytes(), *b"fetcher."].concat()
    }

    /// Leases from children too, as soon as answers tell of them.
    pub(super) async fn follow_splits(self: Arc<Self>) {
        let mut map = self.world.map();
        let mut known: BTreeSet<u64> = (1..=self.world.plan.shards).collect();
        let mut runs = JoinSet::new();
        loop {
            let shards = map.borrow_and_update().shards();
            for shard in shards.into_iter().filter(|shard| known.insert(*shard)) {
                runs.spawn(Arc::clone(&self).run(shard));
            }
            if map.changed().await.is_err() {
                return;
            }
        }
    }

    /// Leases from one shard for ever.
    pub(super) async fn run(self: Arc<Self>, shard: u64) {
        let mut leases = JoinSet::new();
        let mut seen = BTreeSet::new();
        let number = AtomicU64::new(0);
        loop {
            while leases.len() >= SLOTS {
                let _ended = leases.join_next().await;
            }
            while leases.try_join_next().is_some() {}
            let free = SLOTS - leases.len();
            let Some((response, counted_from_ms)) = self.lease(shard, &number, free).await else {
                continue;
            };
            for lease in response.leases {
                let key = lease.key.unwrap_or_default();
                let identity = (key.kind, key.partition, key.fingerprint, lease.token);
                self.world.oracle.granted(shard, &lease, self.session);
                if !seen.insert(identity) {
                    continue;
                }
                let held = Held::new(self.world.clone(), self.clock, shard, lease, {
                    (counted_from_ms, response.held_ms)
                });
                leases.spawn(held.live());
            }
        }
    }

    /// One numbered call, asked until it is answered; with it from when its leases count, on the fetcher's clock.
    async fn lease(
        &self,
        shard: u64,
        number: &AtomicU64,
        free: usize,
    ) -> Option<(pb::LeaseResponse, u64)> {
        let world = &self.world;
        let request = pb::LeaseRequest {
            shard,
            session: self.session_bytes().into(),
            number: number.fetch_add(1, Ordering::Relaxed) + 1,
            max_leases: free as u32,
            ttl_ms: world.plan.ttl_ms,
            wait_ms: world.draw(|rng| rng.between((0, 2_000))),
        };
        let mut node = world.first_node(shard);
        loop {
            world.think(3_000).await;
            if world.mishap(40) {
                self.ask_beside(&request);
            }
            let sent_ms = self.clock.now_ms();
            match world.node(node).lease(request.clone()).await {
                Ok(response) => {
                    let counted_from_ms = if world.plan.bug == Some(Bug::DeadlineFromReceipt) {
                        self.clock.now_ms()
                    } else {
                        sent_ms
                    };
                    if response.map_version > world.map().borrow().version() {
                        let there = Arc::clone(world);
                        tokio::spawn(async move { there.ask_map(node).await });
                    }
                    return Some((response, counted_from_ms));
                }
                Err(CallError::StaleCall { newest_number }) => {
                    number.fetch_max(newest_number, Ordering::Relaxed);
                    return None;
                }
                Err(error) if error.is_retryable() => node = world.learn(shard, node, &error),
                Err(error) => {
                    world
                        .trace
                        .violation(format!("a lease call was refused: {error}"));
                    return None;
                }
            }
            world.sleep((20, 500)).await;
        }
    }

    /// The same call to some node, whose answer nobody waits for.
    fn ask_beside(&self, request: &pb::LeaseRequest) {
        let (node, request) = (self.world.node(self.world.any_node()), request.clone());
        tokio::spawn(async move {
            let _unread = node.lease(request).await;
        });
    }
}
