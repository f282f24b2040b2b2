//! Both sides' books and outboxes.

use super::*;
use crate::{
    Counter,
    command::{
        discover::DiscoverResult,
        remove::{Target, UrlTarget},
        report::{PageCode, Report, ReportResult},
    },
};

fn url_target(url: &str) -> Target {
    Target::Url(UrlTarget {
        partition: partition(url),
        fingerprint: fingerprint(CRAWL, url),
        url: url.into(),
    })
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
