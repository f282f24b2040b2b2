//! Ends of leases: clock, back-off, records, repeats, outbox, revisits, robots.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::{
    Counter, UrlState,
    command::{discover::Link, lease::Work, set_policy::CrawlPolicy},
    limits,
    testing::*,
};
use ReportResult::{Closed, Invalid, LeaseLost, Requeued};

const URL: &str = "http://a.example/1";

fn leased() -> (Shard, crate::command::lease::Lease) {
    let mut shard = Shard::new();
    shard.add_allowed(&[URL]);
    let (lease, _) = shard.lease_page();
    (shard, lease)
}

#[test]
fn last_contact_is_the_first_byte_within_grant_and_now() {
    for (passed, contact, expected) in [
        (5_000, answered(2_000), 3_000),
        // A wrong age never reaches before the grant or past the report.
        (5_000, answered(u64::MAX), 0),
        (5_000, answered(0), 5_000),
        // Without a response the end of the fetch counts.
        (
            5_000,
            Contact {
                since_end_ms: 1_000,
                ..Contact::default()
            },
            4_000,
        ),
    ] {
        let (mut shard, lease) = leased();
        let granted = shard.now_ms;
        shard.pass(passed);
        assert_eq!(
            shard.close(&lease, contact, outcome(PageCode::Refused)),
            Closed
        );
        assert_eq!(
            shard.host(URL).last_contact_ms,
            granted + expected,
            "{contact:?}"
        );
        shard.rebuild();
    }
}

#[test]
fn nothing_written_leaves_the_clock_alone() {
    let (mut shard, lease) = leased();
    let before = shard.host(URL);
    shard.pass(5_000);
    assert_eq!(
        shard.close(&lease, unwritten(), outcome(PageCode::Disallowed)),
        Closed
    );
    let after = shard.host(URL);
    assert_eq!(
        (after.last_contact_ms, after.back_off_until_ms),
        (before.last_contact_ms, before.back_off_until_ms)
    );
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (record.state, record.last_reason.as_str()),
        (UrlState::Refused, "disallowed")
    );
    assert_eq!(shard.m.status().terms.refused, 1);
}

#[test]
fn an_absent_contact_is_an_end_now_without_an_answer() {
    let (mut shard, lease) = leased();
    shard.pass(5_000);
    let report = Report {
        contact: None,
        ..page_report(&lease, answered(0), outcome(PageCode::NetworkError))
    };
    assert_eq!(shard.report(vec![report]), [Closed]);
    assert_eq!(shard.host(URL).last_contact_ms, shard.now_ms);
    assert!(shard.host(URL).back_off_until_ms >= shard.now_ms + 30_000);
}

// cases A11, A13: what the host asks is honoured up to the cap; asked nothing, the back-off is exponential, spread and capped.
#[test]
fn back_off_is_exponential_spread_capped_and_forgiven() {
    let mut shard = Shard::bare();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        back_off_base_ms: 10_000,
        back_off_cap_ms: 100_000,
        max_attempts: 50,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&[URL]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let (lease, _) = shard.lease_page();
        assert_eq!(
            shard.close(
                &lease,
                answered(0),
                PageOutcome {
                    status: 429,
                    ..outcome(PageCode::HttpBusy)
                }
            ),
            Closed
        );
        let wait_ms = shard.host(URL).back_off_until_ms - shard.now_ms;
        waits.push(wait_ms);
        shard.pass(wait_ms - 1);
        assert!(shard.lease(1).is_empty());
        shard.rebuild();
        shard.pass(1);
    }
    let bounds = [
        (10_000, 12_500),
        (20_000, 25_000),
        (40_000, 50_000),
        (80_000, 100_000),
        (75_000, 100_000),
        (75_000, 100_000),
    ];
    assert!(
        waits
            .iter()
            .zip(bounds)
            .all(|(wait, (low, high))| (low..=high).contains(wait)),
        "{waits:?}"
    );
    let (lease, page) = shard.lease_page();
    assert_eq!(page.attempt, 6);
    // Retry-After beyond the cap is cut to it.
    shard.close(
        &lease,
        Contact {
            retry_after_ms: 1_000_000_000_000,
            ..answered(0)
        },
        outcome(PageCode::HttpBusy),
    );
    assert_eq!(shard.host(URL).back_off_until_ms - shard.now_ms, 100_000);
    shard.pass(100_000);
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.close(&lease, answered(0), stored(1)), Closed);
    assert_eq!(shard.host(URL).failures, 0);
    assert_eq!(shard.url(URL).unwrap().attempts, 0);
}

// case A13, second part: hosts that fail together do not come back together.
#[test]
fn back_off_is_spread_over_hosts() {
    let mut shard = Shard::new();
    let mut ends = std::collections::BTreeSet::new();
    for n in 0..20 {
        let url = format!("http://h{n}.example/");
        shard.add(&[&url]);
        let (lease, _) = shard.lease_robots();
        shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
        ends.insert(shard.host(&url).back_off_until_ms);
    }
    assert!(ends.len() > 15);
}

// case A14: the back-off is the host's, over all its URLs, authorities and crawls; it resumes with one in flight.
#[test]
fn back_off_is_host_wide() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    shard.add_allowed(&[URL, "http://a.example/2", "https://a.example/3"]);
    shard.offer(link(2, "http://a.example:81/", 0));
    let robots = shard.lease_one();
    shard.close_robots(&robots, answered(0), found(RobotsCode::AllowAll));
    shard.pass(1_000);
    let lease = shard.lease_one();
    shard.close(
        &lease,
        Contact {
            retry_after_ms: 60_000,
            ..answered(0)
        },
        outcome(PageCode::HttpBusy),
    );
    shard.pass(59_999);
    assert!(shard.lease(9).is_empty());
    assert_eq!(shard.host(URL).waits_for, "back_off");
    shard.pass(1);
    assert_eq!(shard.lease(9).len(), 1);
}

// case A19, host part: many URLs of a failing host make one ramp, one probe at a time.
#[test]
fn a_failing_host_is_probed_once_a_back_off() {
    let mut shard = Shard::new();
    let urls: Vec<_> = (0..30).map(|n| format!("http://a.example/{n}")).collect();
    shard.add_allowed(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let start = shard.now_ms;
    let mut probes = 0;
    while shard.now_ms - start < 3_600_000 {
        for lease in shard.lease(9) {
            probes += 1;
            shard.close(&lease, answered(0), outcome(PageCode::HttpBusy));
        }
        shard.pass(5_000);
    }
    assert!((5..=10).contains(&probes), "{probes}");
}

#[test]
fn a_silent_failure_waits_at_least_a_fetch_timeout() {
    let (mut shard, lease) = leased();
    shard.close(&lease, Contact::default(), outcome(PageCode::NetworkError));
    assert!(shard.host(URL).back_off_until_ms >= shard.now_ms + 30_000);
    let (mut shard, lease) = leased();
    shard.close(&lease, unwritten(), outcome(PageCode::NetworkError));
    let wait_ms = shard.host(URL).back_off_until_ms - shard.now_ms;
    assert!((10_000..30_000).contains(&wait_ms), "{wait_ms}");
}

#[test]
fn after_the_last_attempt_a_url_ends_unfetchable() {
    let (mut shard, mut lease) = leased();
    for attempt in 1..=8 {
        assert_eq!(shard.url(URL).unwrap().state, UrlState::Leased);
        if attempt % 2 == 0 {
            shard.close(&lease, answered(0), outcome(PageCode::NetworkError));
        } else {
            shard.pass(60_000);
            shard.tick();
        }
        if attempt < 8 {
            shard.pass(10 * DAY_MS);
            let robots = shard.lease_one();
            shard.close_robots(&robots, answered(0), found(RobotsCode::AllowAll));
            shard.pass(1_000);
            lease = shard.lease_one();
        }
    }
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (record.state, record.last_reason.as_str(), record.attempts),
        (UrlState::Refused, "unfetchable", 8)
    );
    assert_eq!(
        (
            shard.m.status().terms.refused,
            shard.counter(Counter::Expired)
        ),
        (1, 4)
    );
}

// case B2 and the rule on expiry: the lease's end is the last contact, an attempt is counted.
#[test]
fn expired_leases_are_taken_back() {
    let (mut shard, lease) = leased();
    shard.rebuild();
    shard.now_ms = lease.deadline_ms - 1;
    shard.tick();
    assert_eq!(shard.host(URL).leased, 1);
    shard.now_ms = lease.deadline_ms + 400;
    assert_eq!(shard.m.next_tick_ms(), Some(lease.deadline_ms));
    shard.tick();
    assert_eq!(shard.host(URL).last_contact_ms, lease.deadline_ms);
    assert!(shard.lease(1).is_empty());
    shard.pass(600);
    assert_eq!(shard.lease_page().1.attempt, 1);
}

// case B22: what expired counts no more, and 64 an entry at most.
#[test]
fn many_expired_leases_end_in_slices() {
    let mut shard = Shard::new();
    for n in 0..100 {
        shard.add(&[&format!("http://h{n}.example/")]);
    }
    assert_eq!(shard.lease(100).len(), 100);
    shard.pass(60_000);
    shard.tick();
    assert_eq!(
        shard.m.ready_summary().leased,
        100 - limits::EXPIRIES_PER_ENTRY as u64
    );
    shard.tick();
    assert_eq!(shard.m.ready_summary().leased, 0);
    shard.pass(1_000);
    assert_eq!(shard.lease(100).len(), 100);
}

// cases B4, B7, B8: a repeat is answered as before; a late or wrong token is refused with the reason and changes nothing.
#[test]
fn tokens_fence_and_repeats_are_answered_as_before() {
    let (mut shard, old) = leased();
    let unknown = crate::command::lease::LeaseKey {
        fingerprint: 1,
        ..old.key
    };
    let report = |key, token| Report {
        key: Some(key),
        token,
        ..page_report(&old, answered(0), stored(1))
    };
    assert_eq!(
        shard.report(vec![report(unknown, old.token)]),
        [LeaseLost(LostReason::Unknown)]
    );
    assert_eq!(
        shard.report(vec![report(old.key, old.token + 1)]),
        [LeaseLost(LostReason::Unknown)]
    );
    assert_eq!(
        shard.report(vec![report(old.key, 0)]),
        [LeaseLost(LostReason::Unknown)]
    );
    shard.pass(60_000);
    assert_eq!(
        shard.close(&old, answered(0), stored(1)),
        LeaseLost(LostReason::Expired)
    );
    shard.pass(1_000);
    let (new, _) = shard.lease_page();
    shard.rebuild();
    assert_eq!(
        shard.close(&old, answered(0), stored(1)),
        LeaseLost(LostReason::Superseded)
    );
    assert_eq!(shard.release(&old), LeaseLost(LostReason::Superseded));
    assert_eq!(shard.url(URL).unwrap().state, UrlState::Leased);
    assert_eq!(shard.close(&new, answered(0), stored(1)), Closed);
    let before = (shard.url(URL), shard.m.status().terms);
    shard.rebuild();
    assert_eq!(
        shard.close(&new, answered(0), outcome(PageCode::NetworkError)),
        Closed
    );
    assert_eq!(
        shard.close(&old, answered(0), stored(2)),
        LeaseLost(LostReason::Expired)
    );
    assert_eq!((shard.url(URL), shard.m.status().terms), before);
    assert_eq!(shard.counter(Counter::ReportRepeated), 1);
}

#[test]
fn a_repeated_robots_report_is_answered_as_before() {
    let mut shard = Shard::new();
    shard.add(&[URL]);
    let (lease, _) = shard.lease_robots();
    assert_eq!(
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll)),
        Closed
    );
    shard.rebuild();
    assert_eq!(
        shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable)),
        Closed
    );
    assert_eq!(shard.host(URL).authorities[0].robots_state, "allow_all");
}

// case B5: done only with an outcome that makes sense; else the lease stays.
#[test]
fn senseless_reports_are_refused_and_the_lease_stays() {
    let (mut shard, lease) = leased();
    let good = page_report(&lease, answered(0), stored(1));
    let too_many =
        vec![crate::command::discover::Item::default(); limits::UNDELIVERED_PER_REPORT + 1];
    let cases = [
        (
            Report {
                outcome: None,
                ..good.clone()
            },
            "no_outcome",
        ),
        (
            Report {
                key: None,
                ..good.clone()
            },
            "lease_key",
        ),
        (
            Report {
                outcome: Some(Outcome::Errand(ErrandOutcome::default())),
                ..good.clone()
            },
            "outcome_of_another_kind",
        ),
        (
            page_report(
                &lease,
                answered(0),
                PageOutcome {
                    code: 77,
                    ..PageOutcome::default()
                },
            ),
            "outcome_code",
        ),
        (
            page_report(
                &lease,
                answered(0),
                PageOutcome {
                    digest: vec![1],
                    ..stored(1)
                },
            ),
            "digest",
        ),
        (
            page_report(&lease, unwritten(), stored(1)),
            "answer_without_request",
        ),
        (
            Report {
                undelivered: vec![crate::command::discover::Item::default()],
                ..good.clone()
            },
            "undelivered_item",
        ),
        (
            Report {
                undelivered: too_many,
                ..good.clone()
            },
            "too_many_undelivered",
        ),
    ];
    for (report, reason) in cases {
        assert_eq!(shard.report(vec![report]), [Invalid(reason)]);
        assert_eq!(shard.url(URL).unwrap().state, UrlState::Leased);
    }
    assert_eq!(shard.report(vec![good]), [Closed]);
}

#[test]
fn batches_over_the_limit_are_refused_item_by_item() {
    let (mut shard, lease) = leased();
    let report = page_report(&lease, answered(0), stored(1));
    let results = shard.report(vec![report; limits::REPORT_ITEMS + 1]);
    assert_eq!((&results[0], &results[1]), (&Closed, &Closed));
    assert_eq!(results.last(), Some(&Invalid("batch_too_long")));
}

// case B23: nothing a server sends makes a URL come back for ever.
#[test]
fn over_long_fields_are_cut_or_dropped_never_refused() {
    let (mut shard, lease) = leased();
    let page = PageOutcome {
        etag: "e".repeat(1_000_000),
        last_modified: "date".into(),
        reason: "ä".repeat(100),
        stores: vec![1; 99],
        ..stored(1)
    };
    assert_eq!(shard.close(&lease, answered(0), page), Closed);
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (
            record.etag.as_str(),
            record.last_modified.as_str(),
            record.stores.len()
        ),
        ("", "date", limits::STORES)
    );
    assert_eq!(record.last_reason, "ä".repeat(32));
    assert_eq!(shard.counter(Counter::ValidatorDropped), 1);
}

#[test]
fn requeue_costs_no_attempt_but_moves_the_clock() {
    let (mut shard, lease) = leased();
    shard.pass(100);
    assert_eq!(
        shard.close(&lease, answered(0), outcome(PageCode::Requeue)),
        Closed
    );
    assert_eq!(shard.host(URL).last_contact_ms, shard.now_ms);
    shard.pass(1_000);
    assert_eq!(shard.lease_page().1.attempt, 0);
}

// case I8: a name that does not exist costs few tries, then ends, host by host.
#[test]
fn dead_names_end_after_few_tries() {
    let mut shard = Shard::new();
    shard.add_allowed(&[URL, "http://a.example/2"]);
    let mut tries = 0;
    while shard.m.status().terms.queued > 0 {
        for lease in shard.lease(1) {
            match lease.work {
                Work::Robots(_) => assert_eq!(
                    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll)),
                    Closed
                ),
                _ => {
                    tries += 1;
                    assert_eq!(
                        shard.close(&lease, unwritten(), outcome(PageCode::DnsNotFound)),
                        Closed
                    );
                }
            }
        }
        shard.pass(5_000);
    }
    assert!(tries <= 6, "{tries}");
    assert_eq!(shard.url(URL).unwrap().last_reason, "dns_not_found");
    assert_eq!(shard.m.status().terms.refused, 2);
}

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

#[test]
fn undelivered_items_wait_in_the_outbox_until_delivered() {
    let (mut shard, lease) = leased();
    let items: Vec<_> = (0..3)
        .map(|n| item(link(CRAWL, &format!("http://far{n}.example/"), 5)))
        .collect();
    let report = Report {
        undelivered: items.clone(),
        ..page_report(&lease, answered(0), stored(1))
    };
    assert_eq!(shard.report(vec![report.clone()]), [Closed]);
    // A repeat puts nothing in again.
    assert_eq!(shard.report(vec![report]), [Closed]);
    shard.rebuild();
    let due = shard.m.outbox_due(&shard.rows, 10).unwrap();
    assert_eq!(
        due.iter().map(|(_, item)| item.clone()).collect::<Vec<_>>(),
        items
    );
    let keys: Vec<_> = due.into_iter().map(|(key, _)| key).collect();
    assert_eq!(shard.deliver(keys[..2].to_vec()), 2);
    assert_eq!(shard.deliver(keys.clone()), 1);
    assert_eq!(
        shard.deliver(vec![b"O".to_vec(), b"S12345678abcdefgh".to_vec()]),
        0
    );
    let outbox = shard.m.status().outbox;
    assert_eq!(
        (outbox.entered, outbox.waiting, outbox.delivered),
        (3, 0, 3)
    );
}

#[test]
fn a_full_outbox_requeues_the_page_with_back_off() {
    let (mut shard, lease) = leased();
    shard.m.meta.outbox_waiting = limits::OUTBOX_ROWS;
    shard.m.meta.outbox_in = limits::OUTBOX_ROWS;
    let undelivered = vec![item(Link::default())];
    let report = Report {
        undelivered,
        ..page_report(&lease, answered(0), stored(1))
    };
    assert_eq!(shard.report(vec![report.clone()]), [Requeued]);
    assert_eq!(shard.report(vec![report]), [Requeued]);
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (record.state, record.attempts, record.digest.len()),
        (UrlState::Queued, 0, 0)
    );
    assert!(shard.host(URL).back_off_until_ms > shard.now_ms);
    // A page without undelivered items is taken.
    shard.pass(100_000);
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.close(&lease, answered(0), stored(1)), Closed);
}

// cases D2, D22: one failed read holds for its back-off only, and never wipes good rules.
#[test]
fn unreachable_robots_are_asked_again_and_good_ones_kept() {
    let mut shard = Shard::new();
    shard.add(&[URL, "http://a.example/2", "http://a.example/3"]);
    let (lease, first) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
    assert_eq!(shard.host(URL).authorities[0].robots_state, "unreachable");
    let wait_ms = shard.host(URL).back_off_until_ms - shard.now_ms;
    shard.pass(wait_ms * 2);
    let (lease, second) = shard.lease_robots();
    assert_eq!(second.attempt, first.attempt + 1);
    shard.close_robots(&lease, answered(0), rules("good", 0));
    shard.pass(DAY_MS);
    let (lease, third) = shard.lease_robots();
    assert_eq!(third.etag, "\"r\"");
    shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
    shard.pass(30_000);
    shard.rebuild();
    let (lease, page) = shard.lease_page();
    assert_eq!(page.robots_digest, Some(rules("good", 0).digest));
    assert_eq!(
        shard.host(URL).authorities[0].robots_state,
        "unreachable_last_good_used"
    );
    shard.close(&lease, answered(0), stored(1));
}

#[test]
fn urls_behind_robots_unreachable_for_30_days_end() {
    let mut shard = Shard::new();
    let urls: Vec<_> = (0..100).map(|n| format!("http://a.example/{n}")).collect();
    shard.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let start = shard.wall_ms;
    let mut tries = 0;
    while shard.m.status().terms.queued == 100 {
        for lease in shard.lease(1) {
            assert!(matches!(lease.work, Work::Robots(_)));
            tries += 1;
            shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
        }
        shard.pass(3_600_000);
        shard.rebuild();
        assert!(shard.wall_ms < start + 40 * DAY_MS);
    }
    assert!(shard.wall_ms - start >= 30 * DAY_MS);
    assert!(tries < 60, "the back-off is capped at a day: {tries}");
    assert_eq!(
        shard.m.status().terms.refused,
        limits::ENDINGS_PER_ENTRY as u64
    );
    shard.tick();
    assert_eq!(
        (
            shard.m.status().terms.refused,
            shard.m.status().robots_waiting
        ),
        (100, 0)
    );
    assert_eq!(
        shard.url("http://a.example/5").unwrap().last_reason,
        "robots_unreachable"
    );
    // A URL that comes later gets its own time.
    shard.add(&["http://a.example/late"]);
    shard.pass(DAY_MS);
    shard.tick();
    assert_eq!(shard.m.status().terms.queued, 1);
    shard.rebuild();
}

// case D26: a page without one robots line does not replace good rules; without any it is what there is.
#[test]
fn a_challenge_page_does_not_replace_good_rules() {
    let mut shard = Shard::new();
    shard.add(&[URL]);
    let (lease, _) = shard.lease_robots();
    let challenge = RobotsFound {
        no_valid_line: true,
        ..rules("<html>", 0)
    };
    shard.close_robots(&lease, answered(0), challenge.clone());
    assert_eq!(
        shard.host(URL).authorities[0].robots_digest,
        challenge.digest
    );
    shard.pass(DAY_MS);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), rules("good", 0));
    shard.pass(DAY_MS);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), challenge);
    assert_eq!(
        shard.host(URL).authorities[0].robots_digest,
        rules("good", 0).digest
    );
    assert_eq!(shard.counter(Counter::RobotsKept), 1);
}

#[test]
fn robots_bodies_live_as_long_as_somebody_refers_to_them() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example.org/", "http://b.example.org/"]);
    let partition = partition("http://a.example.org/");
    let digest = rules("same", 0).digest;
    for lease in shard.lease(2) {
        shard.close_robots(&lease, answered(0), rules("same", 0));
    }
    assert_eq!(
        shard
            .m
            .robots_body(&shard.rows, partition, &digest)
            .unwrap(),
        Some(b"same".to_vec())
    );
    assert_eq!((shard.rows.count(b'B'), shard.rows.count(b'D')), (1, 2));
    shard.pass(DAY_MS);
    for expected in [true, false] {
        let (lease, _) = shard.lease_robots();
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
        assert_eq!(
            shard
                .m
                .robots_body(&shard.rows, partition, &digest)
                .unwrap()
                .is_some(),
            expected
        );
    }
    assert_eq!(shard.rows.count(b'D'), 0);
    assert_eq!(
        shard
            .m
            .robots_body(&shard.rows, partition, b"short")
            .unwrap(),
        None
    );
}

#[test]
fn a_304_of_robots_renews_them_only_if_there_are_rules() {
    let mut shard = Shard::new();
    shard.add(&[URL]);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::NotModified));
    assert_eq!(shard.host(URL).authorities[0].robots_state, "unreachable");
    shard.pass(DAY_MS);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), rules("good", 0));
    shard.pass(DAY_MS);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::NotModified));
    assert_eq!(shard.host(URL).authorities[0].robots_state, "rules");
    assert_eq!(
        shard.host(URL).authorities[0].robots_expires_unix_ms,
        shard.wall_ms + DAY_MS
    );
}

#[test]
fn robots_bodies_over_the_limit_and_odd_findings_are_refused() {
    let mut shard = Shard::new();
    shard.add(&[URL]);
    let (lease, _) = shard.lease_robots();
    let big = RobotsFound {
        body: vec![0; limits::ROBOTS_BODY_SIZE_BYTES + 1],
        ..rules("x", 0)
    };
    assert_eq!(
        shard.close_robots(&lease, answered(0), big),
        Invalid("robots_finding")
    );
    assert_eq!(
        shard.close_robots(
            &lease,
            answered(0),
            RobotsFound {
                digest: Vec::new(),
                ..rules("x", 0)
            }
        ),
        Invalid("robots_finding")
    );
    assert_eq!(
        shard.close_robots(&lease, unwritten(), found(RobotsCode::AllowAll)),
        Invalid("answer_without_request")
    );
    assert_eq!(
        shard.close_robots(&lease, unwritten(), found(RobotsCode::Unreachable)),
        Closed
    );
}

#[test]
fn redirects_and_errors_are_answers() {
    let mut shard = Shard::new();
    shard.add_allowed(&[URL, "http://a.example/2"]);
    let (lease, page) = shard.lease_page();
    let target = PageOutcome {
        status: 301,
        redirect_target: "http://b.example/".into(),
        ..outcome(PageCode::Redirect)
    };
    shard.close(&lease, answered(0), target);
    assert_eq!(
        shard.url(&page.url).unwrap().redirect_target,
        "http://b.example/"
    );
    shard.pass(1_000);
    let (lease, page) = shard.lease_page();
    shard.close(
        &lease,
        answered(0),
        PageOutcome {
            status: 404,
            reason: "http_404".into(),
            ..outcome(PageCode::HttpError)
        },
    );
    let record = shard.url(&page.url).unwrap();
    assert_eq!(
        (record.state, record.status, record.last_reason.as_str()),
        (UrlState::Done, 404, "http_404")
    );
    assert_eq!(shard.m.status().terms.done, 2);
    assert_eq!(shard.host(URL).done, 2);
}
