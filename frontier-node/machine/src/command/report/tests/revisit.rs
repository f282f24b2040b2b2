//! Next visits and their validators.

use super::*;

// case G4: a 304 that nobody asked for is tried once more, then final, and nothing is stored.
#[test]
fn an_unexpected_304_is_tried_once_more() {
    let (mut shard, lease) = leased();
    shard.close(&lease, answered(0), outcome(PageCode::NotModified));
    assert_eq!(shard.url(URL).unwrap().state, UrlState::Queued);
    shard.pass(1_000);
    let (lease, page) = shard.lease_page();
    assert_eq!((page.etag.as_str(), page.attempt), ("", 1));
    shard.close(&lease, answered(0), outcome(PageCode::NotModified));
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (
            record.state,
            record.last_reason.as_str(),
            record.digest.len()
        ),
        (UrlState::Done, "unexpected_not_modified", 0)
    );
}

fn revisiting() -> (Shard, crate::command::lease::Lease) {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&[URL]);
    let (lease, _) = shard.lease_page();
    (shard, lease)
}

/// Lets the next visit come due and leases it, robots first.
fn next_visit(
    shard: &mut Shard,
) -> (
    crate::command::lease::Lease,
    crate::command::lease::PageWork,
) {
    let due = shard.url(URL).unwrap().next_visit_unix_ms;
    let wait_ms = due - shard.wall_ms;
    shard.pass(wait_ms);
    let mut lease = shard.lease_one();
    if let Work::Robots(_) = lease.work {
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
        shard.pass(1_000);
        lease = shard.lease_one();
    }
    let Work::Page(page) = lease.work.clone() else {
        panic!()
    };
    (lease, page)
}

// case G5: a 304 keeps digest, validators, stores and size, and counts as unchanged.
#[test]
fn a_304_keeps_everything() {
    let (mut shard, lease) = revisiting();
    shard.close(&lease, answered(0), stored(1));
    let first = shard.url(URL).unwrap();
    let first_ms = first.next_visit_unix_ms - shard.wall_ms;
    assert_eq!(first.state, UrlState::Scheduled);
    let (lease, page) = next_visit(&mut shard);
    assert_eq!(
        (page.etag.as_str(), page.digest.as_slice()),
        ("\"1\"", [1; 32].as_slice())
    );
    let page = PageOutcome {
        digest: vec![9; 32],
        etag: "other".into(),
        status: 304,
        ..outcome(PageCode::NotModified)
    };
    assert_eq!(shard.close(&lease, answered(0), page), Closed);
    let second = shard.url(URL).unwrap();
    assert_eq!(
        (
            second.digest,
            second.etag,
            second.stores,
            second.payload_size_bytes
        ),
        (
            first.digest,
            first.etag,
            first.stores,
            first.payload_size_bytes
        )
    );
    assert_eq!((second.visits, second.changes), (2, 0));
    assert!(
        second.next_visit_unix_ms - shard.wall_ms > first_ms,
        "unchanged: later"
    );
    shard.rebuild();
}

#[test]
fn changes_bring_the_next_visit_nearer() {
    let (mut shard, lease) = revisiting();
    shard.close(&lease, answered(0), stored(1));
    let mut last = u64::MAX;
    for content in 2..6 {
        let (lease, _) = next_visit(&mut shard);
        shard.close(&lease, answered(0), stored(content));
        let interval = shard.url(URL).unwrap().next_visit_unix_ms - shard.wall_ms;
        assert!(interval < last && interval >= 3_600_000);
        last = interval;
    }
    assert_eq!(shard.url(URL).unwrap().changes, 4);
}

// case J14: pages found together do not come due together.
#[test]
fn visits_are_spread() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    let mut due = std::collections::BTreeSet::new();
    for n in 0..20 {
        let url = format!("http://h{n}.example/");
        shard.add_allowed(&[&url]);
        let (lease, _) = shard.lease_page();
        shard.close(&lease, answered(0), stored(1));
        due.insert(shard.url(&url).unwrap().next_visit_unix_ms / 60_000);
    }
    assert!(due.len() > 15);
}

#[test]
fn a_visit_dated_by_a_clock_that_was_set_back_is_due_now() {
    let (mut shard, lease) = revisiting();
    shard.wall_ms += 3_650 * DAY_MS;
    shard.close(&lease, answered(0), stored(1));
    assert_eq!(shard.m.status().terms.scheduled, 1);
    shard.wall_ms -= 3_650 * DAY_MS;
    assert!(shard.m.is_wall_due(shard.wall_ms));
    shard.pass(1_000);
    shard.tick();
    assert_eq!(
        (
            shard.m.status().terms.scheduled,
            shard.url(URL).unwrap().state
        ),
        (0, UrlState::Queued)
    );
    shard.rebuild();
}

#[test]
fn due_visits_are_promoted_in_slices_past_queue_limits() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        max_queued_per_host: 100,
        ..CrawlPolicy::default()
    });
    let urls: Vec<_> = (0..100).map(|n| format!("http://a.example/{n}")).collect();
    shard.add_allowed(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..100 {
        let (lease, _) = shard.lease_page();
        shard.close(&lease, answered(0), stored(1));
        shard.pass(1_000);
    }
    let more: Vec<_> = (100..200)
        .map(|n| format!("http://a.example/{n}"))
        .collect();
    shard.add(&more.iter().map(String::as_str).collect::<Vec<_>>());
    shard.pass(2 * DAY_MS);
    shard.tick();
    assert_eq!(
        shard.m.status().terms.queued,
        100 + limits::PROMOTIONS_PER_ENTRY as u64
    );
    shard.rebuild();
    shard.tick();
    assert_eq!(
        (
            shard.m.status().terms.queued,
            shard.m.status().terms.scheduled
        ),
        (200, 0)
    );
    assert_eq!(shard.m.next_wall_due_unix_ms(), None);
    shard.rebuild();
}

/// One host with two visits an hour and four hours ahead at most, of a crawl whose budget cycles are 30 days (the default).
fn with_near_visits(urls: &[&str]) -> Shard {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        revisit_min_ms: 3_600_000,
        revisit_max_ms: 14_400_000,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(urls);
    for content in 1..=urls.len() {
        let (lease, _) = shard.lease_page();
        shard.close(&lease, answered(0), stored(content as u8));
        shard.pass(7_200_000);
    }
    shard
}

// The longest visit bounds a visit, whatever longer interval another kind of date has.
#[test]
fn a_visit_beyond_its_longest_interval_is_due_now() {
    let mut shard = with_near_visits(&[URL]);
    assert_eq!(shard.m.status().terms.scheduled, 1);
    shard.wall_ms -= 10 * DAY_MS;
    assert!(shard.m.is_wall_due(shard.wall_ms));
    shard.tick();
    assert_eq!(shard.url(URL).unwrap().state, UrlState::Queued);
    assert!(!shard.m.is_wall_due(shard.wall_ms));
    // The robots.txt dated ten days ahead is asked again first.
    shard.lease_robots();
    shard.rebuild();
}

#[test]
fn a_visit_too_far_ahead_is_found_behind_a_nearer_one() {
    let mut shard = with_near_visits(&["http://a.example/1", "http://a.example/2"]);
    assert_eq!(shard.m.status().terms.scheduled, 2);
    let at = |shard: &Shard, url| shard.url(url).unwrap().next_visit_unix_ms;
    let (first, second) = (
        at(&shard, "http://a.example/1"),
        at(&shard, "http://a.example/2"),
    );
    assert!(first < second, "{first} {second}");
    // Now the first is within four hours and the second is not.
    shard.wall_ms = second - 14_400_000 - 1;
    assert!(first > shard.wall_ms && shard.m.is_wall_due(shard.wall_ms));
    shard.rebuild();
    shard.tick();
    assert_eq!(
        ["http://a.example/1", "http://a.example/2"].map(|url| shard.url(url).unwrap().state),
        [UrlState::Scheduled, UrlState::Queued]
    );
    assert!(!shard.m.is_wall_due(shard.wall_ms));
    shard.rebuild();
}
