//! The life of one lease at a model fetcher, by the rules of docs/PROTOCOL.md: the deadline with its margin, a check before
//! the request and one at its write, ages of the contact taken when a report is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use super::clients::offers;
use super::clock::FetcherClock;
use super::plan::CRAWL;
use super::world::{To, World, host, link, partition};

/// What is kept back of a lease, ms, and the part of its length beside it.
const MARGIN_MS: u64 = 1_000;
const MARGIN_DIVISOR: u64 = 500;

/// A lease in a fetcher's hands.
pub(super) struct Held {
    world: Arc<World>,
    clock: FetcherClock,
    shard: u64,
    lease: pb::Lease,
    /// On the fetcher's clock.
    deadline_ms: u64,
}

/// How a fetch touched its host, on the fetcher's clock.
#[derive(Debug, Clone, Copy, Default)]
struct Contact {
    started_ms: Option<u64>,
    responded_ms: Option<u64>,
    ended_ms: u64,
}

impl Contact {
    fn to_wire(self, now_ms: u64) -> pb::Contact {
        let Some(started_ms) = self.started_ms else {
            return pb::Contact {
                nothing_written: true,
                ..Default::default()
            };
        };
        pb::Contact {
            nothing_written: false,
            since_first_byte_ms: self.responded_ms.map(|at| now_ms - at),
            since_end_ms: now_ms - self.ended_ms,
            response_time_ms: self.responded_ms.map_or(0, |at| at - started_ms),
            retry_after_ms: 0,
        }
    }
}

impl Held {
    pub(super) fn new(
        world: Arc<World>,
        clock: FetcherClock,
        shard: u64,
        lease: pb::Lease,
        (counted_from_ms, held_ms): (u64, u64),
    ) -> Self {
        let length_ms = held_ms.saturating_add(lease.remaining_ms);
        let margin_ms = MARGIN_MS + length_ms.div_ceil(MARGIN_DIVISOR);
        Self {
            deadline_ms: counted_from_ms + length_ms.saturating_sub(margin_ms),
            world,
            clock,
            shard,
            lease,
        }
    }

    fn url(&self) -> String {
        match &self.lease.work {
            Some(pb::lease::Work::Page(page)) => page.url.clone(),
            Some(pb::lease::Work::Robots(robots)) => robots.url.clone(),
            _ => String::new(),
        }
    }

    /// From the grant to its end.
    pub(super) async fn live(self) {
        let world = &self.world;
        let timeout_ms = world.plan.fetch_timeout_ms;
        let url = self.url();
        world.trace.event(format!(
            "lease {url} token {} until {} of {}",
            self.lease.token,
            self.deadline_ms,
            self.clock.now_ms()
        ));
        world.think(6_000).await;
        if world.mishap(80) {
            // As late as the rules allow.
            self.wait_until(self.deadline_ms.saturating_sub(timeout_ms + 1))
                .await;
        }
        if world.mishap(30) {
            return world.trace.event(format!("vanishes {}", self.lease.token));
        }
        if self.clock.now_ms() + timeout_ms > self.deadline_ms {
            return self.release().await;
        }
        // Between the check and the write: shorter than a fetch timeout, or the write is refused below.
        world.think(timeout_ms * 2).await;
        if world.mishap(world.plan.last_moment_permille) {
            self.wait_until(self.deadline_ms - 1).await;
        }
        let Some(contact) = self.contact(&url).await else {
            return;
        };
        world.think(500).await;
        let undelivered = self.offer_links(&url, contact).await;
        if world.mishap(30) {
            world.sleep((1, 2 * world.plan.ttl_ms)).await;
        }
        self.report(&url, contact, undelivered).await;
    }

    /// Waits for a moment of the fetcher's clock.
    async fn wait_until(&self, at_ms: u64) {
        let wait_ms = at_ms.saturating_sub(self.clock.now_ms());
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    }

    /// The request and its answer; none if the fetcher dies on the way.
    async fn contact(&self, url: &str) -> Option<Contact> {
        let world = &self.world;
        let timeout_ms = world.plan.fetch_timeout_ms;
        let mut contact = Contact::default();
        let began_ms = self.clock.now_ms();
        contact.ended_ms = began_ms;
        if began_ms >= self.deadline_ms || world.mishap(30) {
            return Some(contact);
        }
        contact.started_ms = Some(began_ms);
        let way_ms = world.draw(|rng| rng.between((1, 150)));
        // What was sent arrives, whether or not its sender sleeps meanwhile.
        let arrives_ms = world.now_ms() + way_ms;
        let (there, to_url, token) = (Arc::clone(world), url.to_owned(), self.lease.token);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(way_ms)).await;
            let what = format!("token {token}");
            there.web.arrive(&host(&to_url), &to_url, arrives_ms, what);
        });
        if world.mishap(30) {
            world.trace.event(format!("vanishes {}", self.lease.token));
            return None;
        }
        if world.mishap(60) {
            // No answer: given up at the fetch timeout.
            tokio::time::sleep(Duration::from_millis(timeout_ms)).await;
        } else {
            let more_ms = world.draw(|rng| rng.between((1, 250)));
            tokio::time::sleep(Duration::from_millis(way_ms + more_ms)).await;
            contact.responded_ms = Some(self.clock.now_ms());
            world.sleep((0, 200)).await;
        }
        contact.ended_ms = self.clock.now_ms();
        Some(contact)
    }

    /// Offers a page's links to their owners; what could not be delivered.
    async fn offer_links(&self, url: &str, contact: Contact) -> Vec<pb::DiscoverItem> {
        let world = &self.world;
        let mut undelivered = Vec::new();
        if contact.responded_ms.is_none()
            || !matches!(self.lease.work, Some(pb::lease::Work::Page(_)))
        {
            return undelivered;
        }
        for target in world.plan.links(url) {
            let to = To::Owner(partition(&target));
            match world.ask(to, 2, offers(CRAWL, &target)).await {
                Ok(response) => judge_offer(world, &target, &response),
                Err(_) => undelivered.push(link(CRAWL, &target)),
            }
        }
        undelivered
    }

    fn outcome(&self, contact: Contact) -> pb::report::Outcome {
        let is_answered = contact.responded_ms.is_some();
        match &self.lease.work {
            Some(pb::lease::Work::Robots(_)) => pb::report::Outcome::Robots(pb::RobotsOutcome {
                found: is_answered.then(|| pb::RobotsFound {
                    code: pb::robots_found::Code::AllowAll.into(),
                    status: 404,
                    ..Default::default()
                }),
                requeue: !is_answered,
            }),
            _ => {
                let code = match (contact.started_ms, contact.responded_ms) {
                    (None, _) => pb::page_outcome::Code::Requeue,
                    (_, None) => pb::page_outcome::Code::NetworkError,
                    _ => pb::page_outcome::Code::Stored,
                };
                pb::report::Outcome::Page(pb::PageOutcome {
                    code: code.into(),
                    status: if is_answered { 200 } else { 0 },
                    digest: if is_answered { vec![7; 32] } else { Vec::new() }.into(),
                    payload_size_bytes: 10,
                    stores: vec![1],
                    ..Default::default()
                })
            }
        }
    }

    async fn report(&self, url: &str, contact: Contact, undelivered: Vec<pb::DiscoverItem>) {
        let world = &self.world;
        let outcome = self.outcome(contact);
        let is_page = matches!(self.lease.work, Some(pb::lease::Work::Page(_)));
        let is_stored = is_page && contact.responded_ms.is_some();
        let times = 1 + u64::from(world.mishap(100));
        for time in 0..times {
            // Calls after which the lease may be closed without an answer.
            let unsure = Arc::new(AtomicU64::new(0));
            let send =
                |there: Arc<dyn Frontier>, shard| -> futures::future::BoxFuture<'static, _> {
                    let unsure = Arc::clone(&unsure);
                    unsure.fetch_add(1, Ordering::Relaxed);
                    // Ages are taken when it is sent, each time.
                    let report = pb::Report {
                        key: self.lease.key,
                        token: self.lease.token,
                        contact: Some(contact.to_wire(self.clock.now_ms())),
                        outcome: Some(outcome.clone()),
                        undelivered: undelivered.clone(),
                    };
                    let request = pb::ReportRequest {
                        shard,
                        items: vec![report],
                    };
                    Box::pin(async move {
                        let answer = match there.report(request).await {
                            Ok(told) => moved(told.results[0].code()).map_or(Ok(told), Err),
                            Err(error) => Err(error),
                        };
                        if matches!(answer, Err(CallError::WrongShard { .. })) {
                            unsure.fetch_sub(1, Ordering::Relaxed);
                        }
                        answer
                    })
                };
            let Ok(response) = world.ask(self.to(), 30, send).await else {
                return world
                    .trace
                    .event(format!("report given up {}", self.lease.token));
            };
            let code = response.results[0].code();
            world
                .trace
                .event(format!("report {url} token {} {code:?}", self.lease.token));
            match code {
                pb::report_result::Code::Closed if time == 0 => {
                    self.taken(url, is_stored, &undelivered);
                }
                pb::report_result::Code::LeaseLost => {
                    let is_first = time == 0 && unsure.load(Ordering::Relaxed) == 1;
                    self.judge_lost(is_first && world.plan.repeat_permille == 0);
                }
                pb::report_result::Code::Closed | pb::report_result::Code::Requeued => {}
                other => world
                    .trace
                    .violation(format!("report of {url} answered {other:?}")),
            }
        }
    }

    /// A token is good until the deadline, whichever shard the host lies in, unless an earlier report closed the lease.
    fn judge_lost(&self, is_first: bool) {
        let (now_ms, token) = (self.clock.now_ms(), self.lease.token);
        if is_first && now_ms < self.deadline_ms {
            let until_ms = self.deadline_ms;
            self.world.trace.violation(format!(
                "P2: token {token} was lost at {now_ms}, good until {until_ms}"
            ));
        }
        self.world.oracle.lost();
    }

    fn taken(&self, url: &str, is_stored: bool, undelivered: &[pb::DiscoverItem]) {
        if is_stored {
            self.world.oracle.closed(url);
        }
        for item in undelivered {
            if let Some(pb::discover_item::Item::Link(link)) = &item.item {
                self.world.oracle.accepted(&link.url);
            }
        }
    }

    /// Whoever granted the lease, or owns its hash by now.
    fn to(&self) -> To {
        To::Granter(self.shard, self.lease.key.unwrap_or_default().partition)
    }

    async fn release(&self) {
        let item = pb::ReleaseItem {
            key: self.lease.key,
            token: self.lease.token,
        };
        let send = |there: Arc<dyn Frontier>, shard| -> futures::future::BoxFuture<'static, _> {
            let items = vec![item];
            Box::pin(async move {
                let response = there.release(pb::ReleaseRequest { shard, items }).await?;
                moved(response.results[0].code()).map_or(Ok(response), Err)
            })
        };
        let _outcome = self.world.ask(self.to(), 3, send).await;
        self.world
            .trace
            .event(format!("release {}", self.lease.token));
    }
}

/// That a lease went with its host to another shard is an error of the call, since nothing was done.
fn moved(code: pb::report_result::Code) -> Option<CallError> {
    (code == pb::report_result::Code::WrongShard)
        .then_some(CallError::WrongShard { map_version: 0 })
}

/// An answer to one offered URL of the fetchers' crawl.
pub(super) fn judge_offer(world: &World, url: &str, response: &pb::DiscoverResponse) {
    match response.results[0].code() {
        pb::discover_result::Code::New | pb::discover_result::Code::Known => {
            world.oracle.accepted(url);
        }
        other => world
            .trace
            .violation(format!("{url} was answered {other:?}")),
    }
}
