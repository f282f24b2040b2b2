//! Expiry, tokens, repeats, reports that make no sense.

use super::*;

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
