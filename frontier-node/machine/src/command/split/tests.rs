//! What a split gives the child, what it leaves, what it refuses, and how both go on.

use super::{SplitDone, SplitRefusal, SplitReply};
use crate::{
    Body, Command, CommandReply, Counter, Entry, Machine, ShardId,
    command::{
        discover::DiscoverResult,
        lease::{Lease, LeaseReply},
        remove::{CrawlTarget, HostTarget, Target, UrlTarget},
        report::{LostReason, PageCode, Report, ReportResult, RobotsCode},
        set_policy::{CrawlPolicy, HostPolicy, Policy},
        split::Split,
    },
    limits,
    testing::*,
};
use prost::Message;

/// A URL of a site below and of one above [`AT`].
pub(super) fn sides() -> (String, String) {
    let mut urls = (0..99).map(|n| format!("http://w.s{n}.example/"));
    let low = urls.find(|url| partition(url) < AT).unwrap();
    (low, urls.find(|url| partition(url) >= AT).unwrap())
}

pub(super) const AT: u64 = 1 << 63;
pub(super) const CHILD: u64 = 2;

pub(super) fn done(child: u64, at: u64, last: u64, epoch: u64) -> SplitReply {
    SplitReply::Done(SplitDone {
        child: ShardId(child),
        at,
        last,
        epoch,
    })
}

/// Parent and child after a split at [`AT`], both as their rows say.
fn split(parent: &mut Shard) -> Shard {
    assert_eq!(
        parent.split(CHILD, AT, parent.m.epoch()),
        done(CHILD, AT, u64::MAX, parent.m.epoch())
    );
    let mut child = parent.child();
    parent.rebuild();
    child.rebuild();
    child
}

/// The URL's host answered for its robots.txt and its delay is past.
fn allowed(shard: &mut Shard, urls: &[&str]) {
    shard.add(urls);
    for lease in shard.lease(9) {
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    }
    shard.pass(1_000);
}

fn url_target(url: &str) -> Target {
    Target::Url(UrlTarget {
        partition: partition(url),
        fingerprint: fingerprint(CRAWL, url),
        url: url.into(),
    })
}

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

// Splitting the shard of a host that is leased at that moment.
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
fn outbox_rows_go_by_their_keys_and_none_is_overwritten() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high, &format!("{high}2")]);
    let reports: Vec<Report> = parent
        .lease(9)
        .iter()
        .map(|lease| Report {
            undelivered: vec![
                item(link(CRAWL, "http://far.example/", 1));
                2 + usize::from(lease.key.partition >= AT)
            ],
            ..page_report(lease, answered(0), stored(1))
        })
        .collect();
    assert_eq!(
        parent.report(reports),
        [ReportResult::Closed, ReportResult::Closed]
    );
    let first = parent.m.outbox_due(&parent.rows, 1).unwrap();
    assert_eq!(parent.deliver(vec![first[0].0.clone()]), 1);
    let mut child = split(&mut parent);
    let outbox = |shard: &Shard| {
        let outbox = shard.m.status().outbox;
        (outbox.entered, outbox.waiting, outbox.delivered)
    };
    assert_eq!((outbox(&parent), outbox(&child)), ((2, 1, 1), (3, 3, 0)));
    // A delivery that the parent had under way changes nothing; the child makes it again.
    let keys: Vec<_> = child
        .m
        .outbox_due(&child.rows, 9)
        .unwrap()
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(parent.deliver(keys.clone()), 0);
    child.pass(1_000);
    let (lease, _) = child.lease_page();
    let report = Report {
        undelivered: vec![item(link(CRAWL, "http://far.example/2", 1))],
        ..page_report(&lease, answered(0), stored(1))
    };
    child.report(vec![report]);
    assert_eq!(outbox(&child), (4, 4, 0));
    assert_eq!(child.deliver(keys), 3);
    assert_eq!(child.rows.count(b'O'), 1);
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

#[test]
fn two_splits_in_one_entry_give_two_children() {
    let mut parent = Shard::new();
    let split = |child, at, epoch| Body::Split(Split { child, at, epoch });
    let replies = parent.entry(vec![split(2, AT, 0), split(3, AT / 2, 1)]);
    assert_eq!(
        replies,
        [
            CommandReply::Split(done(2, AT, u64::MAX, 1)),
            CommandReply::Split(done(3, AT / 2, AT - 1, 2))
        ]
    );
    let shards: Vec<_> = parent
        .m
        .take_children()
        .iter()
        .map(Machine::shard)
        .collect();
    assert_eq!(shards, [ShardId(2), ShardId(3)]);
    assert!(parent.m.take_children().is_empty());
    assert_eq!(parent.m.range(), (0, AT / 2 - 1));
}

/// What a split must not change when it is refused: all rows but the stamps.
fn unchanged(shard: &mut Shard, split: Split, refusal: SplitRefusal) {
    shard.tick();
    let before = shard.rows.rows.clone();
    assert_eq!(
        shard.split(split.child, split.at, split.epoch),
        SplitReply::Refused(refusal)
    );
    assert_eq!(shard.rows.rows, before, "{split:?}");
    assert!(shard.m.take_children().is_empty());
    shard.rebuild();
}

#[test]
fn refusals_change_nothing() {
    use SplitRefusal::{
        NothingLeft, OtherSplit, OutsideRange, StaleEpoch, UnknownChild, UsedChild,
    };
    let (low, high) = sides();
    let mut shard = Shard::new();
    allowed(&mut shard, &[&low, &high]);
    let split = |child, at, epoch| Split { child, at, epoch };
    unchanged(&mut shard, split(0, AT, 0), UnknownChild);
    unchanged(&mut shard, split(1, AT, 0), UsedChild);
    unchanged(&mut shard, split(2, 0, 0), NothingLeft);
    unchanged(&mut shard, split(2, AT, u64::MAX), StaleEpoch { epoch: 0 });
    // An epoch ahead of the shard's is taken over.
    assert_eq!(shard.split(5, AT, 7), done(5, AT, u64::MAX, 8));
    let mut child = shard.child();
    let other = OtherSplit {
        done: SplitDone {
            child: ShardId(5),
            at: AT,
            last: u64::MAX,
            epoch: 8,
        },
    };
    unchanged(&mut shard, split(6, AT / 2, 7), other);
    unchanged(&mut shard, split(5, AT / 2, 7), other);
    unchanged(&mut shard, split(6, AT / 2, 6), StaleEpoch { epoch: 8 });
    unchanged(&mut shard, split(5, AT / 2, 8), UsedChild);
    unchanged(&mut shard, split(4, AT / 2, 8), UsedChild);
    let (first, last) = (0, AT - 1);
    unchanged(&mut shard, split(6, AT, 8), OutsideRange { first, last });
    unchanged(
        &mut child,
        split(6, AT - 1, 8),
        OutsideRange {
            first: AT,
            last: u64::MAX,
        },
    );
    unchanged(&mut child, split(6, AT, 8), NothingLeft);
    unchanged(&mut child, split(5, AT + 1, 8), UsedChild);
    unchanged(&mut child, split(6, AT + 1, 7), StaleEpoch { epoch: 8 });
}

#[test]
fn a_repeat_is_answered_as_before_and_changes_nothing() {
    let (low, high) = sides();
    let mut shard = Shard::new();
    allowed(&mut shard, &[&low, &high]);
    split(&mut shard);
    shard.split(3, AT / 2, 1);
    shard.child();
    let before = shard.rows.rows.clone();
    for epoch in [0, 1, 2, 9] {
        assert_eq!(shard.split(CHILD, AT, epoch), done(CHILD, AT, u64::MAX, 1));
        assert_eq!(shard.split(3, AT / 2, epoch), done(3, AT / 2, AT - 1, 2));
        shard.rebuild();
    }
    assert_eq!(shard.rows.rows, before);
    assert!(shard.m.take_children().is_empty());
}

#[test]
fn the_last_splits_are_remembered() {
    let mut shard = Shard::new();
    let splits = limits::SPLITS_REMEMBERED as u64 + 1;
    for n in 0..splits {
        assert!(matches!(
            shard.split(n + 2, u64::MAX - n, n),
            SplitReply::Done(_)
        ));
    }
    assert_eq!(shard.m.meta.splits.len(), limits::SPLITS_REMEMBERED);
    assert_eq!(
        shard.split(3, u64::MAX - 1, 1),
        done(3, u64::MAX - 1, u64::MAX - 1, 2)
    );
    assert_eq!(
        shard.split(2, u64::MAX, splits),
        SplitReply::Refused(SplitRefusal::UsedChild)
    );
}

#[test]
fn a_range_of_one_hash_is_not_split() {
    let mut shard = Shard::new();
    shard.split(2, 5, 0);
    let mut child = shard.child();
    child.split(3, 6, 1);
    child.child();
    assert_eq!(child.m.range(), (5, 5));
    assert_eq!(
        child.split(4, 5, 2),
        SplitReply::Refused(SplitRefusal::NothingLeft)
    );
}

// The host is forgotten, so that the page's end stays in the books of the parent; both equations hold all the same.
#[test]
fn what_ended_on_a_forgotten_host_is_taken_over_when_it_is_removed() {
    let (low, high) = sides();
    let refused = format!("{high}refused");
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high]);
    for lease in parent.lease(9) {
        parent.close(&lease, answered(0), stored(1));
    }
    parent.pass(1_000);
    parent.add(&[&refused]);
    let (lease, _) = parent.lease_page();
    parent.close(&lease, answered(0), outcome(PageCode::Refused));
    parent.pass(2 * DAY_MS);
    parent.tick();
    assert_eq!(parent.m.status().active_hosts, 0);
    let mut child = split(&mut parent);
    assert_eq!(child.m.status().terms, crate::ConservationTerms::default());
    let kept = parent.m.status().terms;
    assert_eq!((kept.accepted, kept.done, kept.refused), (3, 2, 1));
    // Still known, and read where it is now.
    assert_eq!(child.offer(link(CRAWL, &high, 1)), DiscoverResult::Known);
    for url in [&high, &refused] {
        assert_eq!(child.remove(url_target(url), false, Vec::new()).removed, 1);
    }
    let terms = child.m.status().terms;
    assert_eq!((terms.accepted, terms.removed, terms.done), (2, 2, 0));
    assert_eq!(child.counter(Counter::SplitTakenOver), 2);
    assert_eq!(
        parent.remove(url_target(&low), false, Vec::new()).removed,
        1
    );
    assert_eq!(parent.counter(Counter::SplitTakenOver), 0);
}

#[test]
fn done_pages_of_hosts_in_memory_go_with_them() {
    let (low, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&low, &high, &format!("{high}2")]);
    for lease in parent.lease(9) {
        parent.close(&lease, answered(0), stored(1));
    }
    parent.pass(1_000);
    let (lease, page) = parent.lease_page();
    parent.close(&lease, answered(0), stored(2));
    // A removal is taken off the host's count too.
    parent.remove(url_target(&page.url), false, Vec::new());
    assert_eq!(parent.host(&high).done, 1);
    let child = split(&mut parent);
    let (of_parent, of_child) = (parent.m.status().terms, child.m.status().terms);
    assert_eq!(
        (of_parent.accepted, of_parent.done, of_parent.removed),
        (2, 1, 1)
    );
    assert_eq!(
        (of_child.accepted, of_child.done, of_child.removed),
        (1, 1, 0)
    );
}

// A host row of an older version may count pages that were removed since.
#[test]
fn a_host_that_counts_too_much_does_not_stop_the_shard() {
    let (_, high) = sides();
    let mut parent = Shard::new();
    allowed(&mut parent, &[&high]);
    let (lease, _) = parent.lease_page();
    parent.close(&lease, answered(0), stored(1));
    let id = parent.m.hosts.from(0).next().unwrap().0;
    parent.m.change(id, |host, _| host.done = 40).unwrap();
    parent.tick();
    let child = split(&mut parent);
    assert_eq!(child.m.status().terms.done, 1);
    assert_eq!(parent.m.status().terms.done, 0);
}

// What is in logs now reads as before, and the new command has its pinned form.
#[test]
fn the_encoding_of_the_command_is_pinned() {
    let command = Command {
        body: Some(Body::Split(Split {
            child: 2,
            at: 0x0102_0304_0506_0708,
            epoch: 3,
        })),
    };
    let entry = Entry {
        now_ms: 1,
        wall_unix_ms: 2,
        commands: vec![command],
    };
    let bytes = entry.encode_to_vec();
    let expected = [
        8, 1, 16, 2, 26, 22, // now, wall, one command
        66, 20, // body 8
        9, 2, 0, 0, 0, 0, 0, 0, 0, // child
        17, 8, 7, 6, 5, 4, 3, 2, 1, // at
        24, 3, // epoch
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Entry::decode(bytes.as_slice()).unwrap(), entry);
    // A command without a body, as an unknown one is read by a version that does not know it.
    assert_eq!(
        Entry::decode([26, 0].as_slice()).unwrap().commands,
        [Command { body: None }]
    );
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
