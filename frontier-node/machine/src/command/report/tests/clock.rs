//! The host's clock and back-off.

use super::*;

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
