//! A node for tests: clocks that can be moved, disk faults that can be switched on, short ways to say things.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::Frontier;
use proto::frontier_v1 as pb;
use raftlog::{DiskStep, FaultHook, RaftTiming};
use urlkey::{CanonicalUrl, SuffixList};

use crate::{Clocks, FrontierNode, NodeOptions, SystemClocks};

pub(super) const SESSION: [u8; 16] = *b"a fetcher's name";

/// The system's clocks, moved ahead.
#[derive(Default)]
pub(super) struct MovedClocks {
    ahead_ms: AtomicU64,
}

impl MovedClocks {
    pub(super) fn pass(&self, ms: u64) {
        self.ahead_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clocks for MovedClocks {
    fn now(&self) -> Instant {
        SystemClocks.now() + Duration::from_millis(self.ahead_ms.load(Ordering::Relaxed))
    }

    fn wall_unix_ms(&self) -> u64 {
        SystemClocks.wall_unix_ms() + self.ahead_ms.load(Ordering::Relaxed)
    }
}

/// A disk that is full while it is told so.
#[derive(Default)]
pub(super) struct FullDisk(pub(super) AtomicBool);

impl FaultHook for FullDisk {
    fn before(&self, step: DiskStep) -> io::Result<()> {
        if self.0.load(Ordering::Acquire)
            && matches!(
                step,
                DiskStep::LogWrite | DiskStep::LogSync | DiskStep::Reopen
            )
        {
            return Err(io::Error::from_raw_os_error(28));
        }
        Ok(())
    }
}

pub(super) fn options(dir: &Path, shards: u64) -> NodeOptions {
    let mut options = NodeOptions::new(dir, shards);
    options.expected_urls = 100_000;
    options.engine.timing = RaftTiming {
        heartbeat_ms: 20,
        election_min_ms: 60,
        election_max_ms: 120,
    };
    options.engine.min_free_bytes = 0;
    options.engine.recover_interval_ms = 20;
    options.engine.memtable_size_bytes = 4 << 20;
    options
}

/// Opens a node and waits until it leads.
pub(super) async fn open(options: NodeOptions) -> FrontierNode {
    let node = FrontierNode::open(options).await.unwrap();
    assert!(node.wait_until_leading(Duration::from_secs(20)).await);
    node
}

pub(super) fn partition(url: &str) -> u64 {
    let url = CanonicalUrl::verify(url, 8_192).unwrap();
    urlkey::partition_hash(&SuffixList::shipped().site(url.host())).0
}

/// The shard that owns a URL.
pub(super) async fn owner(frontier: &Arc<dyn Frontier>, url: &str) -> u64 {
    let hash = partition(url);
    let map = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    map.shards
        .iter()
        .find(|s| (s.first..=s.last).contains(&hash))
        .unwrap()
        .shard
}

pub(super) fn link_in(crawl: u32, url: &str) -> pb::DiscoverItem {
    let link = pb::Link {
        crawl,
        url: url.to_owned(),
        partition: partition(url),
        priority: 100,
        ..Default::default()
    };
    pb::DiscoverItem {
        item: Some(pb::discover_item::Item::Link(link)),
    }
}

pub(super) fn link(url: &str) -> pb::DiscoverItem {
    link_in(1, url)
}

/// A crawl whose clock hardly waits, on every shard.
pub(super) async fn create_crawl(frontier: &Arc<dyn Frontier>, crawl: u32, min_delay_ms: u64) {
    let policy = pb::CrawlPolicy {
        crawl,
        min_delay_ms,
        response_time_factor_tenths: 1,
        ..Default::default()
    };
    for shard in frontier
        .shard_map(pb::ShardMapRequest {})
        .await
        .unwrap()
        .shards
    {
        let policy = Some(pb::set_policy_request::Policy::Crawl(policy));
        let request = pb::SetPolicyRequest {
            shard: shard.shard,
            policy,
        };
        assert_eq!(
            frontier.set_policy(request).await.unwrap().refused_reason,
            ""
        );
    }
}

/// Offers to one shard; the codes.
pub(super) async fn discover(
    frontier: &Arc<dyn Frontier>,
    shard: u64,
    items: Vec<pb::DiscoverItem>,
) -> Vec<pb::discover_result::Code> {
    let response = frontier
        .discover(pb::DiscoverRequest { shard, items })
        .await
        .unwrap();
    response
        .results
        .iter()
        .map(pb::DiscoverResult::code)
        .collect()
}

pub(super) fn lease_request(shard: u64, number: u64, wait_ms: u64) -> pb::LeaseRequest {
    pb::LeaseRequest {
        shard,
        session: SESSION.to_vec().into(),
        number,
        max_leases: 10,
        ttl_ms: 60_000,
        wait_ms,
    }
}

pub(super) fn contact() -> Option<pb::Contact> {
    Some(pb::Contact {
        since_first_byte_ms: Some(0),
        ..Default::default()
    })
}

/// The report that ends a lease well: robots allow all, pages were stored.
pub(super) fn good_report(lease: &pb::Lease) -> pb::Report {
    let outcome = match lease.work.as_ref().unwrap() {
        pb::lease::Work::Page(_) => pb::report::Outcome::Page(pb::PageOutcome {
            code: pb::page_outcome::Code::Stored.into(),
            status: 200,
            digest: vec![7; 32].into(),
            payload_size_bytes: 11,
            stores: vec![1],
            ..Default::default()
        }),
        pb::lease::Work::Robots(_) => pb::report::Outcome::Robots(pb::RobotsOutcome {
            found: Some(pb::RobotsFound {
                code: pb::robots_found::Code::AllowAll.into(),
                status: 404,
                ..Default::default()
            }),
            requeue: false,
        }),
        pb::lease::Work::Errand(_) => pb::report::Outcome::Errand(pb::ErrandOutcome {
            delivered: true,
            ..Default::default()
        }),
    };
    pb::Report {
        key: lease.key,
        token: lease.token,
        contact: contact(),
        outcome: Some(outcome),
        undelivered: vec![],
    }
}

pub(super) async fn report(
    frontier: &Arc<dyn Frontier>,
    shard: u64,
    items: Vec<pb::Report>,
) -> Vec<pb::ReportResult> {
    frontier
        .report(pb::ReportRequest { shard, items })
        .await
        .unwrap()
        .results
}

pub(super) fn url_of(lease: &pb::Lease) -> String {
    match lease.work.as_ref().unwrap() {
        pb::lease::Work::Page(page) => page.url.clone(),
        pb::lease::Work::Robots(robots) => robots.url.clone(),
        pb::lease::Work::Errand(errand) => errand.errand.as_ref().unwrap().url.clone(),
    }
}

/// Leases and reports until nothing is queued in a shard; the URLs in order, robots included.
pub(super) async fn crawl_all(
    frontier: &Arc<dyn Frontier>,
    shard: u64,
    mut number: u64,
) -> (Vec<String>, u64) {
    let mut urls = Vec::new();
    for _ in 0..10_000 {
        number += 1;
        let response = frontier
            .lease(lease_request(shard, number, 200))
            .await
            .unwrap();
        for lease in &response.leases {
            urls.push(url_of(lease));
            let results = report(frontier, shard, vec![good_report(lease)]).await;
            assert_eq!(results[0].code(), pb::report_result::Code::Closed);
        }
        if status(frontier, shard).await.terms.unwrap().queued == 0 {
            return (urls, number);
        }
    }
    panic!(
        "the queue does not empty: {:?}",
        status(frontier, shard).await
    );
}

pub(super) async fn status(frontier: &Arc<dyn Frontier>, shard: u64) -> pb::ShardStatusResponse {
    frontier
        .shard_status(pb::ShardStatusRequest { shard })
        .await
        .unwrap()
}

/// Waits for something that comes.
pub(super) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "not in time: {what}");
}

/// P2's equation.
pub(super) fn assert_conserved(status: &pb::ShardStatusResponse) {
    let t = status.terms.unwrap();
    assert_eq!(
        t.accepted,
        t.queued + t.scheduled + t.leased + t.done + t.removed + t.refused,
        "{status:?}"
    );
}
