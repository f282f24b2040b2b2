//! Hosts, leases, crawls and calls on both sides of a split.

use super::*;
use crate::{
    Body, CommandReply, Counter,
    command::{
        discover::DiscoverResult,
        lease::{Lease, LeaseReply},
        remove::{CrawlTarget, HostTarget, Target},
        report::{LostReason, ReportResult},
        set_policy::{CrawlPolicy, HostPolicy, Policy},
        split::Split,
    },
};

#[test]
fn the_child_is_seeded_with_what_is_the_shards() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high]);
    parent.pass(500);
    let mut child = split(&mut parent);
    assert_eq!(parent.m.range(), (0, AT - 1));
    assert_eq!(child.m.range(), (AT, u64::MAX));
    assert_eq!(
        (child.m.shard(), child.m.split_from()),
        (ShardId(CHILD), Some(ShardId(1)))
    );
    assert_eq!((parent.m.epoch(), child.m.epoch()), (1, 1));
    assert_eq!(child.m.now_ms(), parent.m.now_ms());
    assert_eq!(child.m.wall_unix_ms(), parent.m.wall_unix_ms());
    assert_eq!(child.m.status().sessions, 0);
    assert_eq!(parent.m.status().sessions, 1);
    for (shard, url) in [(&mut parent, &low), (&mut child, &high)] {
        let terms = shard.m.status().terms;
        assert_eq!((terms.accepted, terms.queued), (1, 1));
        let (lease, page) = shard.lease_page();
        assert_eq!((&page.url, lease.token), (url, 3));
    }
    assert_eq!(parent.counter(Counter::HostsSplitOff), 1);
    assert_eq!(child.counter(Counter::HostsInherited), 1);
}

// Splitting the shard of a host that is leased at that moment. case B7: its token stays the newest of its key.
#[test]
fn a_lease_that_is_out_stays_valid_at_the_child_and_is_no_business_of_the_parent() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&high, &format!("{high}2"), &low]);
    let leases = parent.lease(9);
    assert_eq!(leases.len(), 2);
    let lease = leases
        .iter()
        .find(|lease| lease.key.partition >= AT)
        .unwrap();
    let mut child = split(&mut parent);
    // Its host stays in flight, its URL is where it was.
    assert!(child.lease(9).is_empty());
    assert_eq!(child.m.status().terms.leased, 1);
    assert_eq!(parent.m.status().terms.leased, 1);
    // "Wrong shard" never means "lease lost".
    assert_eq!(
        parent.close(lease, answered(0), stored(1)),
        ReportResult::WrongShard
    );
    assert_eq!(parent.release(lease), ReportResult::WrongShard);
    assert_eq!(child.host(&high).waits_for, "lease");
    child.pass(700);
    assert_eq!(
        child.close(lease, answered(200), stored(1)),
        ReportResult::Closed
    );
    assert_eq!(
        child.close(lease, answered(200), stored(1)),
        ReportResult::Closed
    );
    // The clock counts from the contact of the lease that the parent granted.
    child.pass(799);
    assert!(child.lease(9).is_empty());
    child.pass(1);
    let (next, _) = child.lease_page();
    assert!(next.token > lease.token);
}

#[test]
fn a_lease_expires_and_a_late_report_is_told_so_at_the_child() {
    let (_, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&high]);
    let (lease, _) = parent.lease_page();
    let mut child = split(&mut parent);
    child.now_ms = lease.deadline_ms;
    child.tick();
    assert_eq!(
        child.close(&lease, answered(0), stored(1)),
        ReportResult::LeaseLost(LostReason::Expired)
    );
    let host = child.host(&high);
    assert_eq!(host.last_contact_ms, lease.deadline_ms);
    child.rebuild();
}

#[test]
fn each_item_is_judged_by_its_range() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high]);
    let mut child = split(&mut parent);
    let items = || {
        vec![
            item(link(CRAWL, &format!("{low}x"), 1)),
            item(link(CRAWL, &format!("{high}x"), 1)),
        ]
    };
    use DiscoverResult::{New, WrongShard};
    assert_eq!(parent.items(items()), [New, WrongShard]);
    assert_eq!(child.items(items()), [WrongShard, New]);
    let host = |url: &str| {
        Policy::Host(HostPolicy {
            host: crate::authority::Authority::of(url).unwrap().0.into(),
            partition: partition(url),
            min_delay_ms: 5,
            block_for_ms: 0,
        })
    };
    assert_eq!(
        (parent.set(host(&high)), child.set(host(&high))),
        ("wrong_shard", "")
    );
    assert_eq!(
        (parent.set(host(&low)), child.set(host(&low))),
        ("", "wrong_shard")
    );
    let target = Target::Host(HostTarget {
        partition: partition(&high),
        host: crate::authority::Authority::of(&high).unwrap().0.into(),
    });
    assert_eq!(
        parent.remove(target.clone(), false, Vec::new()).refused,
        "wrong_shard"
    );
    assert_eq!(child.remove(target, false, Vec::new()).removed, 2);
    assert_eq!(child.m.status().terms.removed, 2);
}

#[test]
fn calls_are_numbered_anew_at_the_child_and_repeated_at_the_parent() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high]);
    let LeaseReply::Granted { leases, .. } = parent.call(7, 5, 9) else {
        panic!();
    };
    assert_eq!(leases.len(), 2);
    let mut child = split(&mut parent);
    let of = |reply| match reply {
        LeaseReply::Granted {
            leases, repeated, ..
        } => (leases, repeated),
        other => panic!("{other:?}"),
    };
    // What the child has now is not repeated by the parent: it expires, or the fetcher that has it reports it to the child.
    let kept: Vec<Lease> = leases
        .into_iter()
        .filter(|lease| lease.key.partition < AT)
        .collect();
    assert_eq!(of(parent.call(7, 5, 9)), (kept, true));
    assert_eq!(of(child.call(7, 1, 9)), (Vec::new(), false));
}

#[test]
fn crawls_are_copied_as_they_are() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    parent.crawl(CrawlPolicy {
        crawl: 2,
        paused: true,
        ..CrawlPolicy::default()
    });
    parent.add(&[&low, &high]);
    parent.remove(Target::Crawl(CrawlTarget {}), true, vec![2]);
    let mut child = split(&mut parent);
    assert_eq!(
        child.offer(link(2, &format!("{high}1"), 1)),
        DiscoverResult::New
    );
    assert!(child.lease(9).is_empty());
    // A removal that was under way holds here too, and is driven from its start.
    assert!(matches!(
        child.offer(link(CRAWL, &format!("{high}1"), 1)),
        DiscoverResult::Refused(_)
    ));
    assert_eq!(
        child
            .remove(Target::Crawl(CrawlTarget {}), true, Vec::new())
            .removed,
        1
    );
    // A policy of one is none of the other.
    child.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    assert_eq!(child.lease(9).len(), 1);
    assert!(parent.lease(9).is_empty());
    parent.rebuild();
    child.rebuild();
}

#[test]
fn a_pause_of_the_shard_holds_for_both() {
    use crate::command::set_policy::{Policy, ShardPause};
    let (low, high) = sides();
    let mut parent = Shard::new();
    parent.add(&[&low, &high]);
    let pause = |paused| Policy::ShardPause(ShardPause { paused });
    assert_eq!(parent.set(pause(true)), "");
    let mut child = split(&mut parent);
    assert!(child.lease(9).is_empty() && parent.lease(9).is_empty());
    assert_eq!(child.set(pause(false)), "");
    assert_eq!((child.lease(9).len(), parent.lease(9).len()), (1, 0));
    child.rebuild();
    parent.rebuild();
}

// Due work and earlier commands of the entry have changed hosts that leave with the split; their rows are written all the same.
#[test]
fn hosts_changed_by_the_entry_itself_are_written() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high]);
    let lease = parent.lease(9);
    parent.now_ms = lease[0].deadline_ms;
    let discover = |url: String| {
        Body::Discover(crate::command::discover::Discover {
            items: vec![item(link(CRAWL, &url, 1))],
        })
    };
    let replies = parent.entry(vec![
        discover(format!("{high}2")),
        Body::Split(Split {
            child: CHILD,
            at: AT,
            epoch: 0,
        }),
        discover(format!("{high}3")),
        discover(format!("{low}3")),
    ]);
    let result = |at: usize| match &replies[at] {
        CommandReply::Discover(results) => results[0].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(result(2), DiscoverResult::WrongShard);
    assert_eq!(result(3), DiscoverResult::New);
    let mut child = parent.child();
    child.rebuild();
    parent.rebuild();
    assert_eq!(child.m.status().terms.queued, 2);
    assert_eq!(child.host(&high).last_contact_ms, lease[0].deadline_ms);
}

// A listing that was under way goes on with what is left.
#[test]
fn a_listing_under_way_ends_at_the_new_range() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    parent.add(&[&low, &high]);
    let listing = parent.m.list_urls(&parent.rows, &[], 2).unwrap();
    assert_eq!(listing.urls.len(), 2);
    let child = split(&mut parent);
    let rest = parent
        .m
        .list_urls(&parent.rows, &listing.cursor, 9)
        .unwrap();
    assert!(rest.urls.is_empty() && rest.cursor.is_empty());
    assert_eq!(
        child.m.list_urls(&child.rows, &[], 9).unwrap().urls.len(),
        1
    );
}
