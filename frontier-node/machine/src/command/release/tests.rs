//! Releases give back exactly what was leased.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::{
    command::{
        lease::Work,
        report::{LostReason, ReportResult, RobotsCode},
    },
    testing::*,
};

// case B11: returned and not attempted; no retry counted, the clock as it was, the place in the queue as it was.
#[test]
fn a_release_leaves_everything_as_it_was() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    shard.pass(5);
    shard.add(&["http://a.example/2"]);
    let before = shard.host("http://a.example/");
    let (lease, page) = shard.lease_page();
    shard.pass(3_000);
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    let after = shard.host("http://a.example/");
    assert_eq!(
        (after.last_contact_ms, after.queued, after.leased),
        (before.last_contact_ms, before.queued, 0)
    );
    shard.rebuild();
    let (again, same) = shard.lease_page();
    assert_eq!((&same.url, same.attempt), (&page.url, 0));
    assert!(again.token > lease.token);
}

#[test]
fn a_repeated_release_is_answered_as_before_and_a_wrong_one_refused() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    let (new, _) = shard.lease_page();
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    assert_eq!(shard.m.ready_summary().leased, 1);
    shard.pass(60_000);
    assert_eq!(
        shard.release(&new),
        ReportResult::LeaseLost(LostReason::Expired)
    );
}

#[test]
fn robots_leases_are_released_too() {
    let mut shard = Shard::new();
    shard.add(&["http://a.example/1"]);
    let (lease, first) = shard.lease_robots();
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    assert_eq!(shard.release(&lease), ReportResult::Closed);
    let again = shard.lease_one();
    let Work::Robots(second) = &again.work else {
        panic!()
    };
    assert_eq!(second.attempt, first.attempt + 1);
    assert_eq!(
        shard.close_robots(&again, answered(0), found(RobotsCode::AllowAll)),
        ReportResult::Closed
    );
}
