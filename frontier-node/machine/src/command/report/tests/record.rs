//! What the record of a URL says after each end.

use super::*;

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
