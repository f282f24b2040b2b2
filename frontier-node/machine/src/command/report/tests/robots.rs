//! What robots findings do.

use super::*;

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

// An expiry says nothing of the host: two crashed fetchers 30 days apart end nothing.
#[test]
fn expired_robots_leases_are_no_unreachable_robots() {
    let mut shard = Shard::new();
    shard.add(&[URL]);
    for _ in 0..2 {
        shard.lease_robots();
        shard.pass(limits::LEASE_TTL_MS.1);
        shard.tick();
        assert_eq!(shard.host(URL).authorities[0].robots_state, "unknown");
        shard.rebuild();
        shard.pass(31 * DAY_MS);
    }
    shard.tick();
    assert_eq!(shard.m.status().terms.queued, 1);
    // Nor does one extend what a report began.
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::Unreachable));
    shard.pass(31 * DAY_MS);
    shard.lease_robots();
    shard.pass(limits::LEASE_TTL_MS.1);
    shard.tick();
    assert_eq!(
        (
            shard.m.status().terms.queued,
            shard.m.status().terms.refused
        ),
        (1, 0)
    );
    assert_eq!(shard.host(URL).authorities[0].robots_state, "unreachable");
    let (lease, _) = {
        shard.pass(DAY_MS);
        shard.lease_robots()
    };
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.pass(DAY_MS / 2);
    shard.lease_page();
    shard.rebuild();
}
