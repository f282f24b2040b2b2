//! Recoveries: who waits how long, which leases end, what a restart and a split make of it.

use super::*;
use crate::{
    Body, CommandReply, Counter,
    command::{
        report::{LostReason, ReportResult, RobotsCode},
        split::{Split, SplitReply},
    },
    limits,
    testing::*,
};

const REACH_MS: u64 = limits::LEASE_TTL_MS.1;

fn recover(shard: &mut Shard, id: u64) -> RecoverDone {
    match shard.one(Body::Recover(Recover { id })) {
        CommandReply::Recover(RecoverReply::Done(done)) => done,
        other => panic!("{other:?}"),
    }
}

/// A host with one URL whose robots.txt is known and whose clock is long past.
fn with_host(url: &str) -> Shard {
    let mut shard = Shard::new();
    shard.add(&[url]);
    let (lease, _) = shard.lease_robots();
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.now_ms += 3_600_000;
    shard
}

#[test]
fn every_host_waits_for_the_longest_lease_and_its_delay() {
    let mut shard = with_host("http://a.example/1");
    let done = recover(&mut shard, 7);
    assert_eq!(done.until_ms, shard.now_ms + REACH_MS);
    // Heard of only after the recovery: its contacts may be among what is lost.
    shard.add(&["http://new.example/"]);
    shard.rebuild();
    shard.now_ms = done.until_ms - 1;
    assert!(shard.lease(9).is_empty());
    shard.now_ms = done.until_ms + 999;
    assert!(shard.lease(9).is_empty());
    shard.now_ms += 1;
    assert_eq!(shard.lease(9).len(), 2);
    shard.rebuild();
}

#[test]
fn a_host_that_comes_long_after_is_as_late_as_the_others() {
    let mut shard = Shard::new();
    let done = recover(&mut shard, 7);
    shard.now_ms = done.until_ms + 500;
    shard.add(&["http://new.example/"]);
    assert!(shard.lease(1).is_empty());
    shard.now_ms += 500;
    assert_eq!(shard.lease(1).len(), 1);
}

#[test]
fn leases_that_are_known_end_as_attempts_and_their_holders_hear_of_it() {
    let mut shard = with_host("http://a.example/1");
    let (lease, _) = shard.lease_page();
    let done = recover(&mut shard, 7);
    assert_eq!(done.leases_left, 0);
    assert_eq!(shard.counter(Counter::Expired), 1);
    assert_eq!(shard.counter(Counter::Recoveries), 1);
    let end = shard.close(&lease, answered(0), stored(1));
    assert_eq!(end, ReportResult::LeaseLost(LostReason::Expired));
    shard.now_ms = done.until_ms + 1_000;
    let (again, work) = shard.lease_page();
    assert!(again.token > lease.token + limits::RECOVERY_JUMP - 1);
    assert_eq!(work.attempt, 1);
    // A repeat of the recovery leaves what was granted since alone.
    assert_eq!(recover(&mut shard, 7), done);
    shard.close(&again, answered(0), stored(1));
    shard.rebuild();
}

#[test]
fn a_second_recovery_begins_anew_and_never_earlier() {
    let mut shard = with_host("http://a.example/1");
    let first = recover(&mut shard, 7);
    shard.now_ms += 10_000;
    let second = recover(&mut shard, 8);
    assert_eq!(second.until_ms, first.until_ms + 10_000);
    assert!(matches!(
        shard.one(Body::Recover(Recover { id: 0 })),
        CommandReply::Recover(RecoverReply::NoId)
    ));
}

#[test]
fn leases_end_in_slices() {
    let mut shard = Shard::new();
    let hosts = limits::LEASES_PER_RECOVERY + 10;
    for n in 0..hosts {
        shard.add(&[&format!("http://h{n}.example/")]);
    }
    let mut leased = 0;
    while leased < hosts {
        leased += shard.lease(256).len();
    }
    assert_eq!(recover(&mut shard, 7).leases_left, 10);
    shard.rebuild();
    assert_eq!(recover(&mut shard, 7).leases_left, 0);
}

#[test]
fn a_child_waits_as_its_parent_does() {
    let mut shard = with_host("http://a.example/1");
    let done = recover(&mut shard, 7);
    let split = Split {
        child: 9,
        at: 1,
        epoch: 0,
    };
    let CommandReply::Split(SplitReply::Done(_)) = shard.one(Body::Split(split)) else {
        panic!("the split is refused");
    };
    let children = shard.m.take_children();
    let child = children.first().unwrap();
    assert_eq!(child.meta.recovery.unwrap().until_ms, done.until_ms);
    assert_eq!(child.next_ready_ms(), Some(done.until_ms + 1_000));
}
