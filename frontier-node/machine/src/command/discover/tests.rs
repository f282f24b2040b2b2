//! Links, limits, errands and errand results.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::{
    Body, Command, CommandReply, Counter, Entry, Machine, Overlay, ShardId, UrlState,
    command::{
        lease::Work,
        report::{ErrandOutcome, Outcome, Report, ReportResult, RobotsCode},
        set_policy::CrawlPolicy,
    },
    limits,
    testing::*,
};
use DiscoverResult::{Known, New, Refused, WrongShard};

// case B26: the truth is in `seen`; a URL is new exactly once, whatever was believed before.
#[test]
fn a_url_is_new_once() {
    let mut shard = Shard::new();
    assert_eq!(shard.offer(link(CRAWL, "http://a.example/", 5)), New);
    assert_eq!(shard.offer(link(CRAWL, "http://a.example/", 5)), Known);
    // Twice in one batch.
    let twice = vec![
        item(link(CRAWL, "http://a.example/2", 5)),
        item(link(CRAWL, "http://a.example/2", 5)),
    ];
    assert_eq!(shard.items(twice), [New, Known]);
    let (partition, fingerprint) = (
        partition("http://a.example/"),
        fingerprint(CRAWL, "http://a.example/"),
    );
    assert!(
        shard
            .m
            .is_known(&shard.rows, partition, fingerprint)
            .unwrap()
    );
    assert!(
        !shard
            .m
            .is_known(&shard.rows, partition, fingerprint + 1)
            .unwrap()
    );
    assert_eq!(shard.m.status().terms.accepted, 2);
    assert_eq!(
        shard.url("http://a.example/").unwrap().state,
        UrlState::Queued
    );
    assert_eq!(shard.url("http://a.example/never"), None);
}

#[test]
fn refusals_are_counted_and_leave_no_trace() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        max_depth: 3,
        max_redirect_hops: 2,
        ..CrawlPolicy::default()
    });
    let rows = shard.rows.rows.len();
    let url = "http://a.example/";
    let long = format!("http://a.example/{}", "x".repeat(limits::URL_SIZE_BYTES));
    let cases = [
        (link(9, url, 0), Refusal::UnknownCrawl),
        (
            Link {
                depth: 4,
                ..link(2, url, 0)
            },
            Refusal::Depth,
        ),
        (
            Link {
                redirect_hops: 3,
                ..link(2, url, 0)
            },
            Refusal::RedirectHops,
        ),
        (
            Link {
                url: "ftp://a.example/".into(),
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
        (
            Link {
                url: "http:///".into(),
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
        (
            Link {
                url: long,
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
        (
            Link {
                queue_key: "q".repeat(256),
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
        (
            Link {
                metadata: (0..17).map(|n| (n.to_string(), String::new())).collect(),
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
        (
            Link {
                metadata: [("k".into(), "v".repeat(4_096))].into(),
                ..link(2, url, 0)
            },
            Refusal::Malformed,
        ),
    ];
    for (link, refusal) in cases {
        assert_eq!(shard.offer(link), Refused(refusal));
        assert!(
            shard.m.status().counters[format!("discover_refused_{}", refusal.name()).as_str()] > 0
        );
    }
    assert_eq!(
        shard.items(vec![Item { kind: None }]),
        [Refused(Refusal::Malformed)]
    );
    assert_eq!(shard.rows.rows.len(), rows);
    assert_eq!(shard.m.status().terms.accepted, 0);
    // It may come again in a form that the limits allow.
    assert_eq!(
        shard.offer(Link {
            depth: 3,
            redirect_hops: 2,
            ..link(2, url, 0)
        }),
        New
    );
}

// case B10: intake stops at a limit and goes on as soon as there is room again.
#[test]
fn full_queues_take_urls_again_once_drained() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        max_queued_per_host: 2,
        max_queued_per_site: 3,
        max_hosts_per_site: 2,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&["http://a.example.org/1", "http://a.example.org/2"]);
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example.org/3", 0)),
        Refused(Refusal::HostQueueFull)
    );
    shard.add(&["http://b.example.org/1"]);
    assert_eq!(
        shard.offer(link(CRAWL, "http://b.example.org/2", 0)),
        Refused(Refusal::SiteQueueFull)
    );
    assert_eq!(
        shard.offer(link(CRAWL, "http://c.example.org/1", 0)),
        Refused(Refusal::SiteHosts)
    );
    // Another site is not concerned.
    assert_eq!(shard.offer(link(CRAWL, "http://c.other.org/1", 0)), New);
    let (lease, _) = shard
        .lease(9)
        .into_iter()
        .find_map(|lease| match lease.work.clone() {
            Work::Page(page) => Some((lease, page)),
            _ => None,
        })
        .unwrap();
    assert_eq!(
        shard.close(&lease, answered(0), stored(1)),
        ReportResult::Closed
    );
    assert_eq!(shard.offer(link(CRAWL, "http://a.example.org/3", 0)), New);
    shard.rebuild();
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example.org/4", 0)),
        Refused(Refusal::HostQueueFull)
    );
}

#[test]
fn a_host_has_so_many_lanes() {
    let mut shard = Shard::new();
    for port in 0..limits::LANES_PER_HOST {
        shard.add(&[&format!("http://a.example:{}/", 1_000 + port)]);
    }
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example:9999/", 0)),
        Refused(Refusal::HostLanes)
    );
    assert_eq!(shard.offer(link(CRAWL, "http://a.example:1000/2", 0)), New);
}

// case J11
#[test]
fn priorities_above_255_are_clamped_and_counted() {
    let mut shard = Shard::new();
    assert_eq!(shard.offer(link(CRAWL, "http://a.example/", 128)), New);
    assert_eq!(shard.offer(link(CRAWL, "http://b.example/", 256)), New);
    assert_eq!(shard.counter(Counter::PriorityClamped), 1);
    let lane = |shard: &Shard, url| {
        shard
            .m
            .hosts
            .get(shard.m.hosts.find(partition(url), "b.example").unwrap())
            .unwrap()
            .lanes[0]
            .priority
    };
    assert_eq!(lane(&shard, "http://b.example/"), 255);
}

// case J17: the same URL in two crawls is two URLs.
#[test]
fn crawls_do_not_share_urls() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    let url = "http://a.example/";
    assert_eq!(shard.offer(link(1, url, 0)), New);
    assert_eq!(shard.offer(link(2, url, 0)), New);
    let target = crate::command::remove::UrlTarget {
        partition: partition(url),
        fingerprint: fingerprint(1, url),
        url: url.into(),
    };
    assert_eq!(
        shard
            .remove(
                crate::command::remove::Target::Url(target),
                true,
                Vec::new()
            )
            .removed,
        1
    );
    assert_eq!(shard.url(url), None);
    assert!(
        shard
            .m
            .url_record(&shard.rows, partition(url), fingerprint(2, url))
            .unwrap()
            .is_some()
    );
    assert_eq!(shard.m.status().terms.queued, 1);
}

#[test]
fn items_of_another_shard_are_refused_item_by_item() {
    let mut overlay = Overlay::default();
    let mut machine = Machine::create(ShardId(3), 100, 200, &mut overlay);
    let items = [99, 201]
        .map(|partition| {
            item(Link {
                partition,
                ..link(1, "http://a.example/", 0)
            })
        })
        .to_vec();
    let entry = Entry {
        now_ms: 1,
        wall_unix_ms: 1,
        commands: vec![Command {
            body: Some(Body::Discover(Discover { items })),
        }],
    };
    let reply = machine
        .apply(&MemRows::default(), &entry, &mut overlay)
        .unwrap();
    assert_eq!(
        reply.replies,
        [CommandReply::Discover(vec![WrongShard, WrongShard])]
    );
    assert_eq!(machine.counter(Counter::WrongShard), 2);
}

fn errand(target: &str, origin: &str, attempt: u32) -> Errand {
    Errand {
        url: target.into(),
        partition: partition(target),
        origin: origin.into(),
        origin_partition: partition(origin),
        hop: 1,
        attempt,
        fingerprint: fingerprint(0, origin),
    }
}

#[test]
fn errands_are_one_an_origin_and_bounded() {
    let mut shard = Shard::new();
    let target = "http://t.example/robots.txt";
    assert_eq!(shard.errand(errand(target, "http://o.example", 1)), New);
    assert_eq!(shard.errand(errand(target, "http://o.example", 1)), Known);
    assert_eq!(shard.errand(errand(target, "http://o.example", 2)), New);
    assert_eq!(shard.errand(errand(target, "http://o.example", 1)), Known);
    assert_eq!(shard.host(target).errands, 1);
    for n in 1..limits::ERRANDS_PER_HOST {
        assert_eq!(
            shard.errand(errand(target, &format!("http://o{n}.example"), 1)),
            New
        );
    }
    assert_eq!(
        shard.errand(errand(target, "http://last.example", 1)),
        Refused(Refusal::ErrandsFull)
    );
    assert_eq!(
        shard.errand(Errand {
            hop: 6,
            ..errand(target, "http://o.example", 9)
        }),
        Refused(Refusal::ErrandHops)
    );
    assert_eq!(
        shard.errand(Errand {
            hop: 0,
            ..errand(target, "http://o.example", 9)
        }),
        Refused(Refusal::Malformed)
    );
    assert_eq!(
        shard.errand(Errand {
            origin: "x".into(),
            ..errand(target, "http://o.example", 9)
        }),
        Refused(Refusal::Malformed)
    );
    // In neither conservation equation.
    assert_eq!(shard.m.status().terms.accepted, 0);
}

fn close_errand(
    shard: &mut Shard,
    lease: &crate::command::lease::Lease,
    outcome: ErrandOutcome,
) -> ReportResult {
    let report = Report {
        key: Some(lease.key),
        token: lease.token,
        contact: Some(answered(0)),
        outcome: Some(Outcome::Errand(outcome)),
        undelivered: Vec::new(),
    };
    shard.report(vec![report]).pop().unwrap()
}

#[test]
fn errands_alternate_with_pages_and_take_the_clock() {
    let mut shard = Shard::new();
    let target = "http://t.example/robots.txt";
    shard.add_allowed(&[
        "http://t.example/1",
        "http://t.example/2",
        "http://t.example/3",
    ]);
    for n in 0..2 {
        assert_eq!(
            shard.errand(errand(target, &format!("http://o{n}.example"), 1)),
            New
        );
    }
    let mut kinds = Vec::new();
    for _ in 0..5 {
        let lease = shard.lease_one();
        assert!(shard.lease(1).is_empty(), "one in flight");
        let result = match &lease.work {
            Work::Page(_) => shard.close(&lease, answered(0), stored(1)),
            Work::Errand(_) => close_errand(
                &mut shard,
                &lease,
                ErrandOutcome {
                    delivered: true,
                    ..ErrandOutcome::default()
                },
            ),
            Work::Robots(_) => panic!("robots are fresh"),
        };
        assert_eq!(result, ReportResult::Closed);
        kinds.push(lease.key.kind);
        assert!(shard.lease(1).is_empty(), "the clock holds");
        shard.pass(1_000);
    }
    assert_eq!(kinds, [1, 3, 1, 3, 1]);
    assert_eq!(shard.rows.count(b'E'), 0);
    shard.rebuild();
}

#[test]
fn errands_that_expire_are_dropped_after_a_while_and_requeued_ones_stay() {
    let mut shard = Shard::new();
    let target = "http://t.example/robots.txt";
    assert_eq!(shard.errand(errand(target, "http://o.example", 1)), New);
    let lease = shard.lease_one();
    assert_eq!(
        close_errand(
            &mut shard,
            &lease,
            ErrandOutcome {
                requeue: true,
                ..ErrandOutcome::default()
            }
        ),
        ReportResult::Closed
    );
    for _ in 0..limits::ERRAND_EXPIRIES {
        shard.pass(1_000);
        assert_eq!(shard.lease(1).len(), 1);
        shard.pass(60_000);
        shard.tick();
    }
    assert_eq!(shard.host(target).errands, 0);
    assert_eq!(shard.counter(Counter::ErrandsDropped), 1);
    shard.rebuild();
}

#[test]
fn two_hosts_of_a_site_are_not_leased_for_one_origin_at_once() {
    let mut shard = Shard::new();
    assert_eq!(
        shard.errand(errand("http://t1.example.org/r", "http://o.example", 1)),
        New
    );
    assert_eq!(
        shard.errand(errand("http://t2.example.org/r", "http://o.example", 1)),
        New
    );
    let lease = shard.lease(2);
    assert_eq!(lease.len(), 1);
    shard.rebuild();
    assert_eq!(
        close_errand(
            &mut shard,
            &lease[0],
            ErrandOutcome {
                delivered: true,
                ..ErrandOutcome::default()
            }
        ),
        ReportResult::Closed
    );
    shard.pass(61_000);
    assert_eq!(shard.lease(2).len(), 1);
}

#[test]
fn only_the_pending_origin_waits_and_old_results_are_dropped() {
    let mut shard = Shard::new();
    shard.add(&["http://o.example/1", "https://o.example/2"]);
    let (lease, robots) = shard.lease_robots();
    assert_eq!(
        shard.close_robots(&lease, answered(0), found(RobotsCode::Pending)),
        ReportResult::Closed
    );
    assert!(shard.m.status().robots_waiting == 1);
    shard.pass(1_000);
    // The other authority of the host goes on.
    let (other, other_robots) = shard.lease_robots();
    assert_ne!(other_robots.origin, robots.origin);
    assert_eq!(
        shard.close_robots(&other, answered(0), found(RobotsCode::AllowAll)),
        ReportResult::Closed
    );
    shard.pass(1_000);
    let (page, _) = shard.lease_page();
    assert_eq!(
        shard.close(&page, answered(0), stored(1)),
        ReportResult::Closed
    );
    shard.pass(1_000);
    assert!(shard.lease(1).is_empty());
    assert_eq!(shard.host("http://o.example/").waits_for, "robots_pending");
    let result = |attempt, code| ErrandResult {
        origin: robots.origin.clone(),
        origin_partition: partition("http://o.example/"),
        attempt,
        robots: Some(found(code)),
    };
    assert_eq!(
        shard.errand_result(result(robots.attempt + 1, RobotsCode::AllowAll)),
        Known
    );
    assert_eq!(
        shard.errand_result(result(robots.attempt - 1, RobotsCode::AllowAll)),
        Known
    );
    assert_eq!(
        shard.errand_result(result(robots.attempt, RobotsCode::NotModified)),
        Refused(Refusal::Malformed)
    );
    let contact = shard.host("http://o.example/").last_contact_ms;
    assert_eq!(
        shard.errand_result(result(robots.attempt, RobotsCode::AllowAll)),
        New
    );
    assert_eq!(
        shard.errand_result(result(robots.attempt, RobotsCode::AllowAll)),
        Known
    );
    assert_eq!(shard.host("http://o.example/").last_contact_ms, contact);
    shard.rebuild();
    assert_eq!(shard.lease(1).len(), 1);
}

// A quick target is fetched and answered before the origin's report says that it waits for it.
#[test]
fn a_result_that_comes_before_the_report_that_waits_for_it_is_taken() {
    let mut shard = Shard::new();
    shard.add(&["http://o.example/1"]);
    let (lease, robots) = shard.lease_robots();
    let result = |attempt, code| ErrandResult {
        origin: robots.origin.clone(),
        origin_partition: partition("http://o.example/"),
        attempt,
        robots: Some(found(code)),
    };
    let old = result(robots.attempt - 1, RobotsCode::AllowAll);
    assert_eq!(shard.errand_result(old), Known);
    let first = result(robots.attempt, RobotsCode::AllowAll);
    assert_eq!(shard.errand_result(first.clone()), New);
    assert_eq!(shard.errand_result(first), Known);
    shard.rebuild();
    assert_eq!(
        shard.close_robots(&lease, answered(0), found(RobotsCode::Pending)),
        ReportResult::Closed
    );
    shard.pass(1_000);
    let (page, _) = shard.lease_page();
    shard.close(&page, answered(0), stored(1));
    // The mark is of that attempt only.
    shard.add(&["http://o.example/2"]);
    shard.pass(DAY_MS);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::Pending));
    shard.pass(1_000);
    assert!(shard.lease(1).is_empty());
    assert_eq!(shard.host("http://o.example/").waits_for, "robots_pending");
}

#[test]
fn a_pending_result_that_never_comes_counts_as_unreachable() {
    let mut shard = Shard::new();
    shard.add(&["http://o.example/1"]);
    let (lease, first) = shard.lease_robots();
    assert_eq!(
        shard.close_robots(&lease, answered(0), found(RobotsCode::Pending)),
        ReportResult::Closed
    );
    shard.pass(limits::ROBOTS_PENDING_MS - 1);
    assert!(shard.lease(1).is_empty());
    shard.pass(limits::ROBOTS_PENDING_MS);
    shard.rebuild();
    let (_, second) = shard.lease_robots();
    assert_eq!(second.attempt, first.attempt + 1);
}

// A host whose only lane waits for robots and whose errand another host of the site holds holds up nobody.
#[test]
fn an_errand_that_has_to_wait_holds_up_nobody() {
    let mut shard = Shard::new();
    shard.add(&["http://t2.example.org/1"]);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::Pending));
    assert_eq!(
        shard.errand(errand("http://t1.example.org/r", "http://o.example", 1)),
        New
    );
    assert_eq!(shard.lease(1).len(), 1);
    assert_eq!(
        shard.errand(errand("http://t2.example.org/r", "http://o.example", 1)),
        New
    );
    shard.pass(1_000);
    shard.add(&["http://other.example/"]);
    assert_eq!(shard.lease_robots().1.origin, "http://other.example");
    shard.rebuild();
}
