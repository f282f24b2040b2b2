//! A fetcher that asks every shard for work as the real one does: numbered calls through the routing client, never for more
//! than the slots that are free; links go out in one offer a page, reports of a shard together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use client::{Frontier, RoutedFrontier, Router};
use proto::frontier_v1 as pb;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::super::plan::CRAWL;
use super::super::world::{World, host, link};
use super::SLOTS;

/// Leases of one call.
const LEASES_A_CALL: usize = 8;
/// How long a call waits for work, ms.
const POLL_WAIT_MS: u64 = 10_000;
/// Reports of one call.
const REPORTS_A_CALL: usize = 256;
/// From the request to the first byte, and from there to the end.
const FIRST_BYTE_MS: (u64, u64) = (20, 150);
const REST_MS: (u64, u64) = (10, 250);
/// Links of a page: to pages of its own host, and of any.
const LINKS: (u64, u64) = (16, 4);

/// What all fetchers did together.
#[derive(Default)]
pub(super) struct Counts {
    is_set_up: AtomicBool,
    pages: AtomicU64,
}

impl Counts {
    pub(super) fn set_up(&self) {
        self.is_set_up.store(true, Ordering::Relaxed);
    }

    pub(super) fn are_set_up(&self) -> bool {
        self.is_set_up.load(Ordering::Relaxed)
    }

    /// Pages that were reported.
    pub(super) fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed)
    }
}

type Slot = OwnedSemaphorePermit;

/// One fetcher.
pub(super) struct Growing {
    world: Arc<World>,
    router: Arc<Router>,
    /// Calls of one shard, through the router.
    frontier: RoutedFrontier,
    counts: Arc<Counts>,
    session: u64,
    slots: Arc<Semaphore>,
}

impl Growing {
    pub(super) fn new(
        world: &Arc<World>,
        router: Arc<Router>,
        counts: &Arc<Counts>,
        session: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            frontier: RoutedFrontier::new(Arc::clone(&router)),
            router,
            counts: Arc::clone(counts),
            session,
            slots: Arc::new(Semaphore::new(SLOTS)),
        })
    }

    /// Works on all shards until the run ends.
    pub(super) fn start(self: &Arc<Self>) {
        for shard in 1..=self.world.plan.shards {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(Arc::clone(self).report(shard, receiver));
            tokio::spawn(Arc::clone(self).lease(shard, sender));
        }
    }

    async fn lease(
        self: Arc<Self>,
        shard: u64,
        reports: mpsc::UnboundedSender<(pb::Report, Slot)>,
    ) {
        let mut number = 0;
        loop {
            let mut slots = self.slots().await;
            number += 1;
            let request = pb::LeaseRequest {
                shard,
                session: [self.session.to_be_bytes(), *b"growing."].concat().into(),
                number,
                max_leases: slots.len() as u32,
                ttl_ms: self.world.plan.ttl_ms,
                wait_ms: POLL_WAIT_MS,
            };
            let answer = loop {
                match self.frontier.lease(request.clone()).await {
                    Ok(answer) => break answer,
                    Err(error) => self.world.trace.event(format!("no lease: {error}")),
                }
                self.world.sleep((20, 100)).await;
            };
            for lease in answer.leases {
                let slot = slots.pop().unwrap();
                tokio::spawn(Arc::clone(&self).fetch(lease, slot, reports.clone()));
            }
        }
    }

    /// One slot, and a few more if they are free.
    async fn slots(&self) -> Vec<Slot> {
        let first = Arc::clone(&self.slots).acquire_owned().await.unwrap();
        let mut slots = vec![first];
        while slots.len() < LEASES_A_CALL {
            match Arc::clone(&self.slots).try_acquire_owned() {
                Ok(slot) => slots.push(slot),
                Err(_) => break,
            }
        }
        slots
    }

    async fn fetch(
        self: Arc<Self>,
        lease: pb::Lease,
        slot: Slot,
        reports: mpsc::UnboundedSender<(pb::Report, Slot)>,
    ) {
        let world = &self.world;
        let (url, is_page) = match &lease.work {
            Some(pb::lease::Work::Page(page)) => (page.url.clone(), true),
            Some(pb::lease::Work::Robots(robots)) => (robots.url.clone(), false),
            _ => return,
        };
        let first_byte_ms = world.draw(|rng| rng.between(FIRST_BYTE_MS));
        let rest_ms = world.draw(|rng| rng.between(REST_MS));
        let way_ms = first_byte_ms / 2;
        tokio::time::sleep(Duration::from_millis(way_ms)).await;
        world.web.arrive(
            &host(&url),
            &url,
            world.now_ms(),
            format!("token {}", lease.token),
        );
        tokio::time::sleep(Duration::from_millis(first_byte_ms - way_ms)).await;
        let responded_ms = world.now_ms();
        tokio::time::sleep(Duration::from_millis(rest_ms)).await;
        if is_page {
            let offered = self.router.offer(self.links(&url)).await;
            assert!(offered.undelivered.is_empty(), "links are not taken");
        }
        let report = pb::Report {
            key: lease.key,
            token: lease.token,
            contact: Some(pb::Contact {
                since_first_byte_ms: Some(world.now_ms() - responded_ms),
                response_time_ms: first_byte_ms,
                ..Default::default()
            }),
            outcome: Some(outcome(is_page)),
            undelivered: Vec::new(),
        };
        reports.send((report, slot)).unwrap();
    }

    fn links(&self, url: &str) -> Vec<pb::DiscoverItem> {
        let (world, own_host) = (&self.world, host(url));
        let own = (0..LINKS.0).map(|_| {
            let page = world.draw(|rng| rng.below(world.plan.pages_per_host));
            format!("http://{own_host}/p{page}")
        });
        let any = (0..LINKS.1).map(|_| {
            let page = world.draw(|rng| rng.below(world.plan.pages()));
            world.plan.page(page)
        });
        own.chain(any).map(|url| link(CRAWL, &url)).collect()
    }

    /// One call at a time, with everything that gathered during the last.
    async fn report(
        self: Arc<Self>,
        shard: u64,
        mut queue: mpsc::UnboundedReceiver<(pb::Report, Slot)>,
    ) {
        let mut gathered = Vec::new();
        while queue.recv_many(&mut gathered, REPORTS_A_CALL).await > 0 {
            let (items, slots): (Vec<pb::Report>, Vec<Slot>) = gathered.drain(..).unzip();
            let is_page =
                |item: &&pb::Report| matches!(item.outcome, Some(pb::report::Outcome::Page(_)));
            let pages = items.iter().filter(is_page).count() as u64;
            let request = pb::ReportRequest { shard, items };
            while let Err(error) = self.frontier.report(request.clone()).await {
                self.world.trace.event(format!("no report: {error}"));
                self.world.sleep((20, 100)).await;
            }
            self.counts.pages.fetch_add(pages, Ordering::Relaxed);
            drop(slots);
        }
    }
}

fn outcome(is_page: bool) -> pb::report::Outcome {
    if is_page {
        return pb::report::Outcome::Page(pb::PageOutcome {
            code: pb::page_outcome::Code::Stored.into(),
            status: 200,
            digest: vec![7; 32].into(),
            payload_size_bytes: 10_000,
            stores: vec![1, 2],
            ..Default::default()
        });
    }
    pb::report::Outcome::Robots(pb::RobotsOutcome {
        found: Some(pb::RobotsFound {
            code: pb::robots_found::Code::AllowAll.into(),
            status: 404,
            ..Default::default()
        }),
        requeue: false,
    })
}
