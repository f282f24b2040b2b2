//! Policies and their refusals.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{command::discover::DiscoverResult, testing::*};

#[test]
fn policies_that_make_no_sense_are_refused() {
    let mut shard = Shard::new();
    let crawl = |policy| Policy::Crawl(policy);
    assert_eq!(shard.set(crawl(CrawlPolicy::default())), "crawl_id");
    assert_eq!(
        shard.set(crawl(CrawlPolicy {
            crawl: 2,
            back_off_base_ms: 10,
            back_off_cap_ms: 5,
            ..CrawlPolicy::default()
        })),
        "back_off_bounds"
    );
    assert_eq!(
        shard.set(crawl(CrawlPolicy {
            crawl: 2,
            revisit_min_ms: 10,
            revisit_max_ms: 5,
            ..CrawlPolicy::default()
        })),
        "revisit_bounds"
    );
    let host = |host: &str| {
        Policy::Host(HostPolicy {
            host: host.into(),
            partition: 1,
            min_delay_ms: 1,
            block_for_ms: 0,
        })
    };
    for bad in ["", "a/b", "a\0b", "ä"] {
        assert_eq!(shard.set(host(bad)), "host_name");
    }
    assert_eq!(
        shard.offer(link(2, "http://a.example/", 0)),
        DiscoverResult::Refused(crate::command::discover::Refusal::UnknownCrawl)
    );
}

#[test]
fn an_override_outlives_the_hosts_work() {
    let mut shard = Shard::new();
    shard.host_policy("http://a.example/", 7_000, 0);
    shard.pass(400 * DAY_MS);
    shard.tick();
    assert_eq!(shard.host("http://a.example/").delay_ms, 7_000);
    shard.rebuild();
    shard.host_policy("http://a.example/", 0, 0);
    shard.pass(10_000);
    shard.tick();
    assert_eq!(shard.try_host("http://a.example/"), None);
    assert_eq!(shard.rows.count(b'H'), 0);
}

#[test]
fn the_number_of_crawls_is_bounded() {
    let mut shard = Shard::new();
    for crawl in 2..=crate::limits::CRAWLS as u32 {
        shard.crawl(CrawlPolicy {
            crawl,
            ..CrawlPolicy::default()
        });
    }
    assert_eq!(
        shard.set(Policy::Crawl(CrawlPolicy {
            crawl: 5_000,
            ..CrawlPolicy::default()
        })),
        "too_many_crawls"
    );
    assert_eq!(
        shard.set(Policy::Crawl(CrawlPolicy {
            crawl: 7,
            paused: true,
            ..CrawlPolicy::default()
        })),
        ""
    );
    shard.rebuild();
}

fn host_change(url: &str) -> HostChange {
    HostChange {
        host: crate::authority::Authority::of(url).unwrap().0.into(),
        partition: partition(url),
        ..HostChange::default()
    }
}

#[test]
fn a_change_of_a_host_leaves_alone_what_it_does_not_name() {
    let mut shard = Shard::new();
    let url = "http://a.example/";
    shard.host_policy(url, 7_000, 60_000);
    let delay = HostChange {
        min_delay_ms: Some(9_000),
        ..host_change(url)
    };
    assert_eq!(shard.set(Policy::HostChange(delay)), "");
    let host = shard.host(url);
    let blocked_until_ms = shard.now_ms + 60_000;
    assert_eq!(
        (host.min_delay_ms, host.blocked_until_ms),
        (9_000, blocked_until_ms)
    );
    let unblock = HostChange {
        block_for_ms: Some(0),
        ..host_change(url)
    };
    assert_eq!(shard.set(Policy::HostChange(unblock)), "");
    let host = shard.host(url);
    assert_eq!((host.min_delay_ms, host.blocked_until_ms), (9_000, 0));
    // What changes nothing at a host that is not there makes none.
    let resume = HostChange {
        paused: Some(false),
        ..host_change("http://b.example/")
    };
    assert_eq!(shard.set(Policy::HostChange(resume)), "");
    assert_eq!(shard.try_host("http://b.example/"), None);
    shard.rebuild();
}

#[test]
fn a_paused_host_is_not_leased_and_is_not_forgotten() {
    let mut shard = Shard::new();
    let (url, other) = ("http://a.example/", "http://b.example/");
    let pause = |paused| {
        Policy::HostChange(HostChange {
            paused: Some(paused),
            ..host_change(url)
        })
    };
    assert_eq!(shard.set(pause(true)), "");
    shard.pass(400 * DAY_MS);
    shard.add(&[url, other]);
    assert_eq!(shard.host(url).waits_for, "paused_host");
    let (lease, robots) = shard.lease_robots();
    assert_eq!(
        (robots.origin.as_str(), shard.lease(9).len()),
        ("http://b.example", 0)
    );
    shard.rebuild();
    assert!(shard.host(url).paused);
    assert_eq!(shard.set(pause(false)), "");
    assert_eq!(shard.lease(9).len(), 1);
    assert_eq!(
        shard.release(&lease),
        crate::command::report::ReportResult::Closed
    );
    shard.rebuild();
}

#[test]
fn a_crawls_pause_keeps_its_policy_and_a_shards_pause_keeps_both() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        min_delay_ms: 4_321,
        ..CrawlPolicy::default()
    });
    shard.offer(link(2, "http://a.example/", 1));
    let crawl = |crawl, paused| Policy::CrawlPause(CrawlPause { crawl, paused });
    let whole = |paused| Policy::ShardPause(ShardPause { paused });
    assert_eq!(shard.set(crawl(9, true)), "unknown_crawl");
    assert_eq!(shard.set(crawl(2, true)), "");
    let settings = shard.m.settings();
    let given = settings.crawls.last().unwrap().policy;
    assert_eq!(
        (given.min_delay_ms, given.paused, settings.paused),
        (4_321, true, false)
    );
    shard.add(&["http://b.example/"]);
    assert_eq!(shard.set(whole(true)), "");
    assert!(shard.m.settings().paused && shard.m.next_ready_ms().is_none());
    assert_eq!(shard.host("http://b.example/").waits_for, "paused_shard");
    assert!(shard.lease(9).is_empty());
    shard.rebuild();
    assert_eq!(shard.set(whole(false)), "");
    assert_eq!(shard.host("http://a.example/").waits_for, "paused_crawl");
    assert_eq!(shard.lease(9).len(), 1);
    assert_eq!(shard.set(crawl(2, false)), "");
    assert_eq!(shard.lease(9).len(), 1);
    shard.rebuild();
}
