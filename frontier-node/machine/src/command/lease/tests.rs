//! Release, tokens, numbered calls, order and fairness.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::{
    Counter,
    command::{
        report::{PageCode, ReportResult, RobotsCode},
        set_policy::CrawlPolicy,
    },
    limits,
    testing::*,
};

fn granted(reply: LeaseReply) -> (Vec<Lease>, bool) {
    match reply {
        LeaseReply::Granted {
            leases, repeated, ..
        } => (leases, repeated),
        other => panic!("{other:?}"),
    }
}

// cases A4, A16, B14: one rule for every call, whoever asks: a host has one lease at most.
#[test]
fn a_host_has_one_lease_whoever_asks() {
    let mut shard = Shard::new();
    shard.add_allowed(&[
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ]);
    let first = granted(shard.call(1, 100, 9)).0;
    assert_eq!(first.len(), 1);
    assert!(granted(shard.call(2, 1, 9)).0.is_empty());
    assert!(granted(shard.call(3, 1, 9)).0.is_empty());
    assert_eq!(shard.host("http://a.example/").waits_for, "lease");
    // Two calls in one entry.
    assert_eq!(
        shard.close(&first[0], answered(0), stored(1)),
        ReportResult::Closed
    );
    shard.pass(1_000);
    let call = |session| {
        crate::Body::Lease(LeaseCall {
            session: vec![session; 16],
            number: 200,
            max_leases: 1,
            ttl_ms: 60_000,
        })
    };
    let replies = shard.entry(vec![call(1), call(2)]);
    let granted: usize = replies
        .into_iter()
        .map(|reply| match reply {
            crate::CommandReply::Lease(reply) => granted(reply).0.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(granted, 1);
}

// cases A17, A20: contact to contact is at least the delay, robots.txt included, and no longer than the delay when the fetch is quick.
#[test]
fn gaps_are_the_delay() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: 5_000,
        ..CrawlPolicy::default()
    });
    let urls: Vec<_> = (0..10).map(|n| format!("http://a.example/{n}")).collect();
    shard.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let start = shard.now_ms;
    let mut contacts = Vec::new();
    while contacts.len() < 11 {
        for lease in shard.lease(1) {
            // The request arrives 100 ms after the grant, its answer is reported 50 ms later.
            shard.pass(150);
            contacts.push(shard.now_ms - 50);
            let result = match lease.work {
                Work::Robots(_) => {
                    shard.close_robots(&lease, answered(50), found(RobotsCode::AllowAll))
                }
                _ => shard.close(&lease, answered(50), stored(1)),
            };
            assert_eq!(result, ReportResult::Closed);
        }
        shard.pass(10);
    }
    assert!(
        contacts.windows(2).all(|pair| pair[1] - pair[0] >= 5_000),
        "{contacts:?}"
    );
    assert!(shard.now_ms - start < 10 * 5_400);
}

// case A7: above the cap the delay is the cap, the asked value is kept and the case counted.
#[test]
fn crawl_delays_are_capped_kept_and_counted() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), rules("a", 900_000));
    let host = shard.host("http://a.example/");
    assert_eq!(
        (host.delay_ms, host.authorities[0].asked_crawl_delay_ms),
        (300_000, 900_000)
    );
    assert_eq!(shard.counter(Counter::CrawlDelayCapped), 1);
    shard.pass(299_999);
    assert!(shard.lease(1).is_empty());
    shard.pass(1);
    let (_, page) = shard.lease_page();
    assert_eq!(page.delay_ms, 300_000);
    assert_eq!(page.robots_digest, Some(rules("a", 0).digest));
}

#[test]
fn the_delay_is_the_largest_of_its_terms_by_the_policies_of_now() {
    let mut shard = Shard::new();
    shard.add_allowed(&[
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ]);
    let (lease, page) = shard.lease_page();
    assert_eq!(page.delay_ms, 1_000);
    shard.close(
        &lease,
        crate::command::report::Contact {
            response_time_ms: 300,
            ..answered(0)
        },
        stored(1),
    );
    assert_eq!(shard.host("http://a.example/").delay_ms, 3_000);
    shard.host_policy("http://a.example/", 4_000, 0);
    assert_eq!(shard.host("http://a.example/").delay_ms, 4_000);
    // Another crawl with a longer delay holds as soon as it has something queued.
    shard.crawl(CrawlPolicy {
        crawl: 2,
        min_delay_ms: 6_000,
        ..CrawlPolicy::default()
    });
    shard.pass(5_000);
    assert_eq!(
        shard.offer(link(2, "http://a.example/other", 0)),
        crate::command::discover::DiscoverResult::New
    );
    assert!(shard.lease(1).is_empty());
    // And so does a change of policy, though the host's place in the sets was computed before.
    shard.crawl(CrawlPolicy {
        crawl: 2,
        min_delay_ms: 9_000,
        ..CrawlPolicy::default()
    });
    shard.pass(1_000);
    assert!(shard.lease(1).is_empty());
    shard.rebuild();
    shard.pass(3_000);
    assert_eq!(shard.lease(1).len(), 1);
}

#[test]
fn blocked_hosts_wait() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    shard.host_policy("http://a.example/", 0, 50_000);
    shard.pass(49_999);
    assert!(shard.lease(1).is_empty());
    assert_eq!(shard.host("http://a.example/").waits_for, "block");
    shard.rebuild();
    shard.pass(1);
    assert_eq!(shard.lease(1).len(), 1);
}

#[test]
fn paused_crawls_wait_and_do_not_hold_up_others() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&["http://a.example/1"]);
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        paused: true,
        ..CrawlPolicy::default()
    });
    assert!(shard.lease(1).is_empty());
    assert_eq!(shard.m.next_ready_ms(), None);
    assert_eq!(shard.host("http://a.example/").waits_for, "paused_crawl");
    shard.offer(link(2, "http://a.example/2", 255));
    let (lease, page) = shard.lease_page();
    assert_eq!(page.crawl, 2);
    shard.close(&lease, answered(0), stored(1));
    shard.pass(1_000);
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        ..CrawlPolicy::default()
    });
    assert_eq!(shard.lease_page().1.crawl, CRAWL);
}

#[test]
fn a_host_gives_its_urls_by_priority_then_arrival() {
    let mut shard = Shard::new();
    for (url, priority) in [
        ("http://a.example/late", 9),
        ("http://a.example/low", 200),
        ("http://a.example/high", 1),
    ] {
        shard.offer(link(CRAWL, url, priority));
        shard.pass(1);
    }
    shard.offer(link(CRAWL, "http://a.example/later", 9));
    shard.add_allowed(&[]);
    let mut order = Vec::new();
    for _ in 0..4 {
        let (lease, page) = shard.lease_page();
        order.push(page.url.rsplit('/').next().unwrap().to_owned());
        shard.close(&lease, answered(0), stored(1));
        shard.pass(1_000);
        shard.rebuild();
    }
    assert_eq!(order, ["high", "late", "later", "low"]);
}

// cases J2, J10: whoever is not ready is skipped, never waited for.
#[test]
fn slow_hosts_do_not_hold_up_others() {
    let mut shard = Shard::new();
    shard.add(&["http://slow.example/1", "http://slow.example/2"]);
    let slow = shard.lease(1);
    assert_eq!(slow.len(), 1);
    shard.add(&[
        "http://b.example/1",
        "http://c.example/1",
        "http://d.example/1",
    ]);
    assert_eq!(shard.lease(9).len(), 3);
    assert_eq!(shard.m.ready_summary().leased, 4);
}

// case J13: good work first, but no class starves.
#[test]
fn no_class_starves_another() {
    let mut shard = Shard::new();
    let low: Vec<_> = (0..5).map(|n| format!("http://low{n}.example/")).collect();
    for url in &low {
        shard.offer(link(CRAWL, url, 255));
    }
    shard.pass(1);
    let (mut next, mut seen, mut grants) = (0, 0, 0);
    while seen < low.len() {
        // There is always better work.
        for _ in 0..2 {
            shard.offer(link(CRAWL, &format!("http://high{next}.example/"), 0));
            next += 1;
        }
        let (_, work) = shard.lease_robots();
        grants += 1;
        seen += usize::from(work.origin.contains("low"));
        shard.rebuild();
    }
    assert!(
        grants <= limits::FAIR_GRANT_EVERY as usize * (low.len() + 1),
        "{grants}"
    );
    assert!(grants > low.len() + 10, "better work goes first");
}

// case L29 and the token rule: tokens rise, across rebuilds too.
#[test]
fn tokens_rise_for_ever() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let mut last = 0;
    for _ in 0..5 {
        let lease = shard.lease_one();
        assert!(lease.token > last);
        last = lease.token;
        assert_eq!(shard.release(&lease), ReportResult::Closed);
        shard.rebuild();
    }
}

#[test]
fn a_number_is_answered_once_and_then_repeated() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    let (leases, repeated) = granted(shard.call(5, 7, 4));
    assert_eq!((leases.len(), repeated), (1, false));
    shard.add(&["http://b.example/1"]);
    shard.rebuild();
    shard.pass(10_000);
    // The same leases with the same deadline: no new time to live, and nothing new.
    assert_eq!(granted(shard.call(5, 7, 4)), (leases.clone(), true));
    assert_eq!(shard.call(5, 6, 4), LeaseReply::Stale { newest: 7 });
    // What ended meanwhile is not repeated.
    shard.close(&leases[0], answered(0), stored(1));
    assert_eq!(granted(shard.call(5, 7, 4)), (Vec::new(), true));
    let (next, _) = granted(shard.call(5, 8, 4));
    assert_eq!(next.len(), 1);
    assert_eq!(
        (
            shard.counter(Counter::LeaseRepeated),
            shard.counter(Counter::LeaseStale)
        ),
        (2, 1)
    );
    assert_eq!(shard.call(5, 0, 4), LeaseReply::Malformed);
    shard.calls = 0;
    assert!(matches!(
        shard.entry(vec![crate::Body::Lease(LeaseCall {
            session: vec![1],
            number: 1,
            max_leases: 1,
            ttl_ms: 0
        })])[0],
        crate::CommandReply::Lease(LeaseReply::Malformed)
    ));
}

#[test]
fn repeats_carry_the_validators_of_a_revisit() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
    shard.pass(100 * DAY_MS);
    shard.tick();
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.pass(1_000);
    let (leases, _) = granted(shard.call(9, 1, 1));
    let Work::Page(page) = &leases[0].work else {
        panic!()
    };
    assert_eq!(
        (page.etag.as_str(), page.digest.as_slice()),
        ("\"1\"", [1; 32].as_slice())
    );
    assert_eq!(granted(shard.call(9, 1, 1)), (leases, true));
}

#[test]
fn sessions_are_forgotten_when_no_lease_of_them_can_be_out() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    shard.call(5, 7, 1);
    assert_eq!(shard.rows.count(b'N'), 1);
    shard.pass(limits::LEASE_TTL_MS.1);
    shard.tick();
    assert_eq!((shard.rows.count(b'N'), shard.m.status().sessions), (0, 0));
    shard.rebuild();
}

#[test]
fn time_to_live_and_grants_are_clamped() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1", "http://b.example/1"]);
    let call = |number, ttl_ms| {
        crate::Body::Lease(LeaseCall {
            session: vec![1; 16],
            number,
            max_leases: 1,
            ttl_ms,
        })
    };
    let replies = shard.entry(vec![call(1, 0), call(2, u64::MAX)]);
    let deadlines: Vec<_> = replies
        .into_iter()
        .map(|reply| match reply {
            crate::CommandReply::Lease(reply) => granted(reply).0[0].deadline_ms - 1_000_000,
            _ => 0,
        })
        .collect();
    assert_eq!(deadlines, [limits::LEASE_TTL_MS.0, limits::LEASE_TTL_MS.1]);
}

#[test]
fn budgets_hold_a_crawl_back_until_the_next_cycle_only() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        host_budget_pages: 2,
        budget_cycle_ms: DAY_MS,
        ..CrawlPolicy::default()
    });
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&[
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ]);
    for _ in 0..2 {
        let (lease, _) = shard.lease_page();
        shard.close(&lease, answered(0), stored(1));
        shard.pass(1_000);
    }
    assert!(shard.lease(1).is_empty());
    assert_eq!(
        (
            shard.host("http://a.example/").waits_for,
            shard.host("http://a.example/").budget_spent
        ),
        ("budget", 2)
    );
    shard.rebuild();
    // Another crawl of the host goes on.
    shard.offer(link(2, "http://a.example/4", 0));
    let (lease, page) = shard.lease_page();
    assert_eq!(page.crawl, 2);
    shard.close(&lease, answered(0), stored(1));
    // A wall clock that steps back opens nothing.
    shard.pass(1_000);
    shard.wall_ms -= DAY_MS / 2;
    assert!(shard.lease(1).is_empty());
    shard.wall_ms += DAY_MS / 2;
    let next = shard.m.next_wall_due_unix_ms().unwrap();
    assert!(next % DAY_MS <= DAY_MS / 32);
    shard.wall_ms = next;
    assert!(shard.m.is_wall_due(next));
    shard.pass(1_000);
    shard.tick();
    shard.rebuild();
    let lease = shard.lease_one();
    assert_eq!(lease.key.kind(), LeaseKind::Page);
    // A release gives the page back to the budget.
    assert_eq!(shard.host("http://a.example/").budget_spent, 1);
    shard.release(&lease);
    assert_eq!(shard.host("http://a.example/").budget_spent, 0);
}

#[test]
fn a_budget_cycle_from_a_clock_that_was_set_back_is_over() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        host_budget_pages: 1,
        budget_cycle_ms: DAY_MS,
        ..CrawlPolicy::default()
    });
    shard.wall_ms += 3_650 * DAY_MS;
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    let (lease, _) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
    shard.pass(1_000);
    assert!(shard.lease(1).is_empty());
    shard.wall_ms -= 3_650 * DAY_MS;
    assert!(shard.m.is_wall_due(shard.wall_ms));
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.pass(1_000);
    assert_eq!(shard.lease_page().1.url, "http://a.example/2");
}

#[test]
fn summaries_say_what_is_ready() {
    let mut shard = Shard::new();
    for (url, priority) in [
        ("http://a.example/", 0),
        ("http://b.example/", 31),
        ("http://c.example/", 255),
    ] {
        shard.offer(link(CRAWL, url, priority));
    }
    shard.pass(500);
    shard.tick();
    let ready = shard.m.ready_summary();
    assert_eq!(ready.by_class, [2, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(
        (ready.oldest_ready_ms, ready.queued, ready.leased),
        (500, 3, 0)
    );
    let lease = shard.lease(3);
    assert_eq!(lease.len(), 3);
    assert_eq!(shard.m.ready_summary().by_class, [0; 8]);
    shard.close(&lease[0], unwritten(), outcome(PageCode::Requeue));
}
