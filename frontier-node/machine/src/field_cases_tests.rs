//! Cases from the field that concern no single command, each named. The others stand beside the command they concern.
#![allow(clippy::unwrap_used)]

use crate::{
    Counter, UrlState,
    command::lease::Work,
    command::report::{LostReason, PageCode, ReportResult, RobotsCode},
    testing::*,
};

// case B1
#[test]
fn leaving_the_queue_and_being_leased_is_one_step() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, page) = shard.lease_page();
    assert_eq!(page.url, "http://a.example/1");
    // A machine rebuilt at this moment knows the lease, and its end requeues.
    shard.rebuild();
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Leased
    );
    shard.pass(60_000);
    shard.tick();
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Queued
    );
    assert_eq!(
        shard.close(&lease, answered(0), stored(1)),
        ReportResult::LeaseLost(LostReason::Expired)
    );
    shard.pass(1_000);
    let (lease, _) = shard.lease_page();
    assert_eq!(
        shard.close(&lease, answered(0), outcome(PageCode::HttpError)),
        ReportResult::Closed
    );
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Done
    );
}

// case B8: the late result is refused and counted; what it stored stays where it is.
#[test]
fn late_results_are_counted() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    shard.pass(61_000);
    assert_eq!(
        shard.close(&lease, answered(0), stored(1)),
        ReportResult::LeaseLost(LostReason::Expired)
    );
    assert_eq!(shard.counter(Counter::LostExpired), 1);
    assert_eq!(shard.url("http://a.example/1").unwrap().digest.len(), 0);
}

// case L5: expiry follows the entry's stamp, not a replica's clock: two replicas that apply the same entry agree.
#[test]
fn expiry_follows_the_stamp() {
    let (mut one, mut two) = (Shard::new(), Shard::new());
    for shard in [&mut one, &mut two] {
        shard.add(&["http://a.example/1"]);
        shard.lease_one();
        shard.pass(60_000);
    }
    // The second replica restarted and catches up later.
    two.rebuild();
    one.tick();
    two.tick();
    assert_eq!(one.rows.rows, two.rows.rows);
    assert_eq!(one.counter(Counter::Expired), 1);
}

// case D2: the state of one robots.txt failure ends with its back-off.
#[test]
fn one_failed_robots_read_is_not_for_life() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
    assert!(shard.lease(1).is_empty());
    shard.pass(60_000);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.pass(1_000);
    assert_eq!(shard.lease(1).len(), 1);
}

// Every counter has its own name and is in the status.
#[test]
fn the_status_names_every_counter() {
    let mut shard = Shard::new();
    shard.offer(link(CRAWL, "http://a.example/1", 999));
    let status = shard.m.status();
    assert_eq!(status.counters.len(), Counter::ALL.len());
    assert_eq!(status.counters["priority_clamped"], 1);
}

// A node knows from these when to tick and when to answer a call that waits.
#[test]
fn what_is_due_is_told() {
    let mut shard = Shard::bare();
    assert_eq!(
        (shard.m.next_due_ms(), shard.m.is_wall_due(u64::MAX)),
        (None, false)
    );
    shard.crawl(crate::command::set_policy::CrawlPolicy {
        crawl: CRAWL,
        ..Default::default()
    });
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.m.next_ready_ms(), None);
    assert_eq!(shard.m.next_due_ms(), Some(lease.deadline_ms));
    shard.close(&lease, answered(0), stored(1));
    assert_eq!(shard.m.next_ready_ms(), Some(shard.now_ms + 1_000));
    assert_eq!(shard.m.next_due_ms(), Some(shard.now_ms + 1_000));
}

// case A10
#[test]
fn each_host_has_the_delay_of_its_own_robots() {
    let mut shard = Shard::new();
    shard.add(&["http://seed.example/", "http://slow.other/"]);
    for lease in shard.lease(2) {
        let Work::Robots(robots) = &lease.work else {
            panic!("{lease:?}")
        };
        let found = if robots.origin == "http://slow.other" {
            rules("User-agent: *\nCrawl-delay: 10", 10_000)
        } else {
            found(RobotsCode::AllowAll)
        };
        shard.close_robots(&lease, answered(0), found);
    }
    let delays = ["http://seed.example/", "http://slow.other/"].map(|url| shard.host(url).delay_ms);
    assert_eq!(delays, [1_000, 10_000]);
}
