//! Removals: of a URL in every state, of a host, of a crawl; bounded slices; hosts that outlive their queues.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::{
    UrlState,
    command::{
        discover::{DiscoverResult, Refusal},
        report::{PageCode, ReportResult, RobotsCode},
        set_policy::CrawlPolicy,
    },
    limits,
    testing::*,
};

fn url_target(url: &str) -> Target {
    Target::Url(UrlTarget {
        partition: partition(url),
        fingerprint: fingerprint(CRAWL, url),
        url: url.into(),
    })
}

fn host_target(url: &str) -> Target {
    let (host, _) = crate::authority::Authority::of(url).unwrap();
    Target::Host(HostTarget {
        partition: partition(url),
        host: host.into(),
    })
}

/// Slices until the end; (removed, marked, slices).
fn remove_all(shard: &mut Shard, target: &Target, forget: bool) -> (u64, u64, usize) {
    let (mut removed, mut marked, mut slices, mut cursor) = (0, 0, 0, Vec::new());
    loop {
        let reply = shard.remove(target.clone(), forget, cursor);
        assert_eq!(reply.refused, "");
        assert!(reply.removed <= limits::REMOVALS_PER_SLICE as u64);
        removed += reply.removed;
        marked += reply.marked;
        slices += 1;
        cursor = reply.cursor;
        shard.rebuild();
        if cursor.is_empty() {
            return (removed, marked, slices);
        }
        assert!(slices < 1_000);
    }
}

#[test]
fn a_queued_url_goes_and_may_come_again_only_if_forgotten() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1", "http://a.example/2"]);
    assert_eq!(
        remove_all(&mut shard, &url_target("http://a.example/1"), false),
        (1, 0, 1)
    );
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Removed
    );
    assert_eq!(
        remove_all(&mut shard, &url_target("http://a.example/1"), false),
        (0, 0, 1)
    );
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example/1", 0)),
        DiscoverResult::Known
    );
    assert_eq!(
        remove_all(&mut shard, &url_target("http://a.example/2"), true),
        (1, 0, 1)
    );
    assert_eq!(shard.url("http://a.example/2"), None);
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example/2", 0)),
        DiscoverResult::New
    );
    // Forgetting what was removed before.
    assert_eq!(
        remove_all(&mut shard, &url_target("http://a.example/1"), true),
        (0, 0, 1)
    );
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example/1", 0)),
        DiscoverResult::New
    );
    assert_eq!(shard.m.status().terms.removed, 2);
}

// case B16: two removers cannot both have it, and nothing stays locked.
#[test]
fn two_removals_remove_once() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    let slice = crate::Body::Remove(Remove {
        crawl: CRAWL,
        target: Some(url_target("http://a.example/1")),
        forget: false,
        cursor: Vec::new(),
    });
    let replies = shard.entry(vec![slice.clone(), slice]);
    let removed: Vec<_> = replies
        .iter()
        .map(|reply| match reply {
            crate::CommandReply::Remove(reply) => reply.removed,
            _ => 9,
        })
        .collect();
    assert_eq!(removed, [1, 0]);
}

#[test]
fn a_leased_url_closes_as_removed_and_its_host_stays_in_flight() {
    for forget in [false, true] {
        let mut shard = Shard::new();
        shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
        let (lease, page) = shard.lease_page();
        assert_eq!(
            remove_all(&mut shard, &url_target(&page.url), forget),
            (0, 1, 1)
        );
        assert_eq!(shard.url(&page.url).unwrap().state, UrlState::Leased);
        assert!(shard.lease(1).is_empty());
        shard.pass(100);
        assert_eq!(
            shard.close(&lease, answered(0), outcome(PageCode::NetworkError)),
            ReportResult::Closed
        );
        assert_eq!(
            shard.url(&page.url).map(|record| record.state),
            (!forget).then_some(UrlState::Removed)
        );
        assert_eq!(shard.host(&page.url).last_contact_ms, shard.now_ms);
        assert_eq!(shard.m.status().terms.removed, 1);
    }
}

#[test]
fn a_marked_url_closes_as_removed_by_release_and_expiry_too() {
    for expire in [false, true] {
        let mut shard = Shard::new();
        shard.add_allowed(&["http://a.example/1"]);
        let (lease, page) = shard.lease_page();
        shard.remove(url_target(&page.url), false, Vec::new());
        if expire {
            shard.pass(60_000);
            shard.tick();
        } else {
            shard.release(&lease);
        }
        assert_eq!(shard.url(&page.url).unwrap().state, UrlState::Removed);
    }
}

fn with_every_state() -> Shard {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&[
        "http://a.example/scheduled",
        "http://a.example/done",
        "http://a.example/refused",
    ]);
    for _ in 0..3 {
        let (lease, work) = shard.lease_page();
        let page = match work.url.rsplit('/').next().unwrap() {
            "scheduled" => stored(1),
            "done" => outcome(PageCode::HttpError),
            _ => outcome(PageCode::Refused),
        };
        shard.close(&lease, answered(0), page);
        shard.pass(1_000);
    }
    shard.add(&["http://a.example/queued"]);
    shard
}

#[test]
fn a_url_is_removed_from_every_state() {
    for forget in [false, true] {
        let mut shard = with_every_state();
        for name in ["scheduled", "done", "refused", "queued"] {
            let url = format!("http://a.example/{name}");
            assert!(shard.url(&url).is_some());
            assert_eq!(
                remove_all(&mut shard, &url_target(&url), forget),
                (1, 0, 1),
                "{name}"
            );
            assert_eq!(
                shard.url(&url).map(|record| record.state),
                (!forget).then_some(UrlState::Removed)
            );
        }
        let terms = shard.m.status().terms;
        assert_eq!((terms.accepted, terms.removed), (4, 4));
        assert_eq!((shard.rows.count(b'Q'), shard.rows.count(b'V')), (0, 0));
    }
}

#[test]
fn a_hosts_queue_and_schedule_go_in_slices() {
    let mut shard = with_every_state();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    shard.offer(link(2, "http://a.example/other", 0));
    for n in 0..600 {
        shard.add(&[&format!("http://a.example/{n}")]);
    }
    let (removed, marked, slices) = remove_all(&mut shard, &host_target("http://a.example/"), true);
    assert_eq!((removed, marked), (602, 0));
    assert!(slices >= 3);
    let terms = shard.m.status().terms;
    assert_eq!(
        (terms.queued, terms.scheduled, terms.done, terms.refused),
        (1, 0, 1, 1)
    );
    assert_eq!(
        shard.offer(link(CRAWL, "http://a.example/5", 0)),
        DiscoverResult::New
    );
}

#[test]
fn a_whole_crawl_goes_in_slices_and_takes_no_urls_meanwhile() {
    for forget in [false, true] {
        let mut shard = with_every_state();
        shard.crawl(CrawlPolicy {
            crawl: 2,
            ..CrawlPolicy::default()
        });
        for n in 0..300 {
            shard.add(&[&format!("http://h{n}.example/")]);
        }
        shard.offer(link(2, "http://other.example/", 0));
        let leased = shard.lease_one();
        let first = shard.remove(Target::Crawl(CrawlTarget {}), forget, Vec::new());
        assert_eq!(first.removed, limits::REMOVALS_PER_SLICE as u64);
        assert_eq!(
            shard.offer(link(CRAWL, "http://new.example/", 0)),
            DiscoverResult::Refused(Refusal::CrawlRemoved)
        );
        assert_eq!(
            shard.set(crate::command::set_policy::Policy::Crawl(CrawlPolicy {
                crawl: CRAWL,
                ..CrawlPolicy::default()
            })),
            "crawl_removed"
        );
        let (removed, _, _) = remove_all(&mut shard, &Target::Crawl(CrawlTarget {}), forget);
        let ended = if forget { 2 } else { 0 };
        let page = u64::from(leased.key.kind == 1);
        assert_eq!(first.removed + removed, 302 - page + ended);
        if page == 1 {
            shard.close(&leased, answered(0), stored(1));
        } else {
            shard.close_robots(&leased, answered(0), found(RobotsCode::AllowAll));
        }
        let terms = shard.m.status().terms;
        assert_eq!((terms.queued, terms.scheduled, terms.leased), (1, 0, 0));
        assert_eq!(shard.rows.count(b'S'), if forget { 1 } else { 305 });
        assert_eq!(shard.rows.count(b'U') == 0, forget);
    }
}

#[test]
fn removals_that_make_no_sense_are_refused() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    assert_eq!(
        shard
            .remove(Target::Crawl(CrawlTarget {}), false, vec![77])
            .refused,
        "cursor"
    );
    assert_eq!(
        shard
            .remove(
                Target::Url(UrlTarget {
                    url: "x".into(),
                    partition: partition("http://a.example/1"),
                    fingerprint: fingerprint(CRAWL, "http://a.example/1")
                }),
                false,
                Vec::new()
            )
            .refused,
        "url"
    );
    let slice = Remove {
        crawl: 99,
        target: Some(Target::Crawl(CrawlTarget {})),
        forget: false,
        cursor: Vec::new(),
    };
    let replies = shard.entry(vec![crate::Body::Remove(slice)]);
    assert!(
        matches!(&replies[0], crate::CommandReply::Remove(reply) if reply.refused == "unknown_crawl")
    );
    assert_eq!(
        shard.remove(host_target("http://nobody.example/"), false, Vec::new()),
        RemoveReply::default()
    );
}

// Host rows outlive queues until every clock in them is past.
#[test]
fn a_host_outlives_its_queue_until_its_clocks_are_past() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    shard.close(
        &lease,
        crate::command::report::Contact {
            retry_after_ms: 50_000,
            ..answered(0)
        },
        stored(1),
    );
    shard.pass(49_000);
    shard.tick();
    // The URL comes again under another crawl: the back-off still holds.
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    shard.offer(link(2, "http://a.example/1", 0));
    assert!(shard.lease(1).is_empty());
    shard.pass(1_000);
    let (lease, _) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
    shard.pass(1_000);
    shard.tick();
    // Robots are fresh: that is a clock too, or trickling links would ask for them again and again.
    assert!(shard.try_host("http://a.example/").is_some());
    shard.pass(DAY_MS);
    shard.tick();
    assert_eq!(shard.try_host("http://a.example/"), None);
    for tag in *b"HRBDQVLE" {
        assert_eq!(shard.rows.count(tag), 0);
    }
    assert_eq!(shard.counter(crate::Counter::DroppedDone), 2);
    shard.rebuild();
    assert_eq!(shard.m.status().terms.done, 2);
}
