//! When idle hosts are forgotten: after every delay that could still be asked of them.

use crate::{
    command::{
        remove::{CrawlTarget, Target},
        report::RobotsCode,
        set_policy::CrawlPolicy,
    },
    counters::Counter,
    limits,
    testing::*,
};

const SHORT: u32 = CRAWL + 1;
const LONG_MS: u64 = 2 * limits::HOST_KEPT_MS;

/// Two crawls, of which [`CRAWL`] asks for [`LONG_MS`] between contacts.
fn with_two_delays() -> Shard {
    let mut shard = Shard::bare();
    for (crawl, min_delay_ms) in [(CRAWL, LONG_MS), (SHORT, 1_000)] {
        shard.crawl(CrawlPolicy {
            crawl,
            min_delay_ms,
            robots_fresh_ms: 1_000,
            ..CrawlPolicy::default()
        });
    }
    shard
}

/// The crawl with the short delay comes to a host, asks for its robots.txt and is done with the one URL.
fn visit(shard: &mut Shard, url: &str) {
    shard.offer(link(SHORT, url, 0));
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    // The delay passes by shard time alone, so that the robots.txt is still fresh.
    shard.now_ms += 1_000;
    let (lease, _) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
}

#[test]
fn an_idle_host_is_kept_for_the_longest_delay_that_could_be_asked() {
    let mut shard = with_two_delays();
    let url = "http://a.example/1";
    visit(&mut shard, url);
    let contact_ms = shard.now_ms;
    for _ in 0..3 {
        shard.pass(limits::HOST_KEPT_MS / 2);
        shard.tick();
        shard.rebuild();
        assert!(shard.try_host(url).is_some());
    }
    // Found once and put off: nothing to do until then.
    assert_eq!(shard.m.next_tick_ms(), Some(contact_ms + LONG_MS));
    // The other crawl's clock counts from the contact that was not its own.
    shard.add(&["http://a.example/2"]);
    assert!(shard.lease(1).is_empty());
    shard.now_ms = contact_ms + LONG_MS - 1;
    assert!(shard.lease(1).is_empty());
    shard.now_ms += 1;
    shard.lease_robots();
    shard.rebuild();
}

#[test]
fn an_idle_host_goes_when_nobody_could_ask_for_more() {
    let mut shard = with_two_delays();
    let url = "http://a.example/1";
    visit(&mut shard, url);
    let contact_ms = shard.now_ms;
    shard.pass(LONG_MS - 1);
    shard.tick();
    assert!(shard.try_host(url).is_some());
    shard.pass(1);
    shard.tick();
    assert_eq!(shard.now_ms, contact_ms + LONG_MS);
    assert_eq!(shard.try_host(url), None);
    shard.rebuild();
}

#[test]
fn crawls_that_are_removed_ask_for_nothing() {
    let mut shard = with_two_delays();
    let url = "http://a.example/1";
    visit(&mut shard, url);
    shard.remove(Target::Crawl(CrawlTarget {}), false, Vec::new());
    shard.pass(limits::HOST_KEPT_MS - 1);
    shard.tick();
    assert!(shard.try_host(url).is_some());
    shard.pass(1);
    shard.tick();
    assert_eq!(shard.try_host(url), None);
}

// Any shorter delay of all crawls still leaves time for a crawl that is made later.
#[test]
fn a_crawl_made_within_the_hour_knows_the_last_contact() {
    let mut shard = Shard::bare();
    let crawl = |crawl, min_delay_ms| CrawlPolicy {
        crawl,
        min_delay_ms,
        robots_fresh_ms: 1_000,
        ..CrawlPolicy::default()
    };
    shard.crawl(crawl(SHORT, 1_000));
    visit(&mut shard, "http://a.example/1");
    let contact_ms = shard.now_ms;
    shard.pass(limits::HOST_KEPT_MS - 1);
    shard.tick();
    shard.crawl(crawl(CRAWL, LONG_MS));
    shard.add(&["http://a.example/2"]);
    shard.pass(1);
    assert!(shard.lease(1).is_empty());
    shard.now_ms = contact_ms + LONG_MS;
    shard.lease_robots();
}

#[test]
fn hosts_are_put_off_in_slices() {
    let mut shard = with_two_delays();
    let hosts = limits::ENDINGS_PER_ENTRY as u64 + 10;
    for n in 0..hosts {
        visit(&mut shard, &format!("http://h{n}.example/"));
    }
    // Their robots.txt grow old first, in slices too.
    shard.wall_ms += 1_000;
    shard.tick();
    shard.tick();
    shard.pass(limits::HOST_KEPT_MS);
    shard.tick();
    // Those beyond the slice are still due.
    assert!(shard.m.next_tick_ms().unwrap() <= shard.now_ms);
    shard.rebuild();
    shard.tick();
    assert!(shard.m.next_tick_ms().unwrap() > shard.now_ms);
    assert_eq!(shard.m.status().active_hosts, hosts);
    shard.pass(LONG_MS);
    shard.tick();
    assert_eq!(
        shard.counter(Counter::HostsDropped),
        limits::ENDINGS_PER_ENTRY as u64
    );
    shard.tick();
    assert_eq!(shard.m.status().active_hosts, 0);
}
