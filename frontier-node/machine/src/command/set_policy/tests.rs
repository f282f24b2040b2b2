//! Policies and their refusals.

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
