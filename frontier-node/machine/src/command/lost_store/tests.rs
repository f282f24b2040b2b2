//! What had its only copy in a dead store is fetched again, once, and nothing else is.

use super::{LostStore, LostStoreReply};
use crate::{
    Body, CommandReply, Counter, UrlState,
    command::{
        report::{PageCode, PageOutcome, ReportResult},
        set_policy::CrawlPolicy,
        split::SplitReply,
    },
    limits,
    testing::*,
};

const DEAD: u32 = 7;

fn slice(shard: &mut Shard, store: u32, sweep: bool, cursor: Vec<u8>) -> LostStoreReply {
    let body = Body::LostStore(LostStore {
        store,
        sweep,
        cursor,
    });
    match shard.entry(vec![body]).pop() {
        Some(CommandReply::LostStore(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

/// All slices: requeued, waiting, ended.
fn lose(shard: &mut Shard, store: u32) -> (u64, u64, u64) {
    let (mut sum, mut cursor) = ((0, 0, 0), Vec::new());
    loop {
        let reply = slice(shard, store, true, cursor);
        assert_eq!(reply.refused, "");
        sum = (
            sum.0 + reply.requeued,
            sum.1 + reply.waiting,
            sum.2 + reply.ended,
        );
        cursor = reply.cursor;
        if cursor.is_empty() {
            return sum;
        }
    }
}

fn page(content: u8, stores: &[u32]) -> PageOutcome {
    PageOutcome {
        stores: stores.to_vec(),
        ..stored(content)
    }
}

/// Fetches the next page of the shard.
fn fetch(shard: &mut Shard, outcome: PageOutcome) -> String {
    let (lease, work) = shard.lease_page();
    assert_eq!(
        shard.close(&lease, answered(0), outcome),
        ReportResult::Closed
    );
    shard.pass(1_000);
    work.url
}

#[test]
fn a_page_is_fetched_again_when_its_last_copy_is_gone_and_not_before() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    let alone = fetch(&mut shard, page(1, &[DEAD]));
    let both = fetch(&mut shard, page(2, &[DEAD, 3]));
    assert_eq!(lose(&mut shard, DEAD), (1, 0, 0));
    assert_eq!(lose(&mut shard, DEAD), (0, 0, 0), "once is enough");
    let record = shard.url(&alone).unwrap();
    assert_eq!(record.state, UrlState::Queued);
    assert!(record.stores.is_empty() && record.etag.is_empty() && record.digest.is_empty());
    assert_eq!(shard.url(&both).unwrap().stores, [DEAD, 3]);
    let terms = shard.m.status().terms;
    assert_eq!(
        (terms.queued, terms.done, shard.host(&alone).done),
        (1, 1, 1)
    );
    assert_eq!(lose(&mut shard, 3), (1, 0, 0));
    assert_eq!(shard.counter(Counter::LostStoreRequeued), 2);
    shard.rebuild();
    assert_eq!(shard.m.dead_stores(), [3, DEAD]);
    let (_, work) = shard.lease_page();
    assert!(
        work.etag.is_empty() && work.digest.is_empty(),
        "the fetch is unconditional"
    );
}

#[test]
fn a_late_report_that_names_dead_stores_alone_queues_its_page_again() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/"]);
    let (lease, _) = shard.lease_page();
    let marked = slice(&mut shard, DEAD, false, Vec::new());
    assert_eq!(marked, LostStoreReply::default());
    assert_eq!(
        shard.close(&lease, answered(0), page(1, &[DEAD])),
        ReportResult::Closed
    );
    let record = shard.url("http://a.example/").unwrap();
    assert_eq!(
        (record.state, record.attempts, record.visits),
        (UrlState::Queued, 0, 0)
    );
    assert!(record.stores.is_empty());
    assert_eq!(shard.counter(Counter::LostStoreReports), 1);
    // The clock moved all the same: the host was contacted.
    assert!(shard.lease(9).is_empty());
    shard.pass(1_000);
    fetch(&mut shard, page(1, &[DEAD, 8]));
    assert_eq!(
        shard.url("http://a.example/").unwrap().state,
        UrlState::Done
    );
}

#[test]
fn a_scheduled_page_comes_at_once_and_its_change_statistics_go_on() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    let url = "http://a.example/";
    shard.add_allowed(&[url]);
    fetch(&mut shard, page(1, &[DEAD]));
    assert_eq!(shard.url(url).unwrap().state, UrlState::Scheduled);
    assert_eq!(lose(&mut shard, DEAD), (1, 0, 0));
    let terms = shard.m.status().terms;
    assert_eq!(
        (terms.queued, terms.scheduled, shard.host(url).scheduled),
        (1, 0, 0)
    );
    shard.rebuild();
    fetch(&mut shard, page(1, &[3]));
    let record = shard.url(url).unwrap();
    assert_eq!(
        (record.visits, record.changes),
        (2, 0),
        "the same bytes are no change"
    );
    assert_eq!(
        (record.state, record.digest),
        (UrlState::Scheduled, vec![1; 32])
    );
}

#[test]
fn a_visit_under_way_may_not_say_that_nothing_changed() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    let url = "http://a.example/";
    shard.add_allowed(&[url]);
    fetch(&mut shard, page(1, &[DEAD]));
    shard.pass(100 * DAY_MS);
    shard.tick();
    let (robots, _) = shard.lease_robots();
    shard.close_robots(
        &robots,
        answered(0),
        found(crate::command::report::RobotsCode::AllowAll),
    );
    shard.pass(1_000);
    let (lease, work) = shard.lease_page();
    assert!(!work.etag.is_empty());
    assert_eq!(lose(&mut shard, DEAD), (0, 1, 0));
    shard.close(&lease, answered(0), outcome(PageCode::NotModified));
    assert_eq!(shard.url(url).unwrap().state, UrlState::Queued);
    shard.rebuild();
}

#[test]
fn slices_are_bounded_and_what_nobody_wants_stays() {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: 1,
        response_time_factor_tenths: 1,
        ..CrawlPolicy::default()
    });
    let count = limits::REMOVALS_PER_SLICE + 10;
    let urls: Vec<String> = (0..count)
        .map(|n| format!("http://a.example/{n}"))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    shard.add_allowed(&urls);
    for _ in 0..count {
        fetch(&mut shard, page(1, &[DEAD]));
    }
    use crate::command::remove::{Target, UrlTarget};
    let removed = Target::Url(UrlTarget {
        partition: partition(urls[0]),
        fingerprint: fingerprint(CRAWL, urls[0]),
        url: urls[0].into(),
    });
    assert_eq!(shard.remove(removed, false, Vec::new()).removed, 1);
    let first = slice(&mut shard, DEAD, true, Vec::new());
    assert!(first.requeued <= limits::REMOVALS_PER_SLICE as u64 && !first.cursor.is_empty());
    let rest = slice(&mut shard, DEAD, true, first.cursor);
    assert!(rest.cursor.is_empty());
    assert_eq!(first.requeued + rest.requeued, count as u64 - 1);
    assert_eq!(first.ended + rest.ended, 1, "what was removed stays so");
    shard.rebuild();
}

#[test]
fn ids_that_make_no_sense_and_too_many_are_refused() {
    let mut shard = Shard::new();
    assert_eq!(slice(&mut shard, 0, true, Vec::new()).refused, "store_id");
    for store in 1..=limits::DEAD_STORES as u32 {
        assert_eq!(slice(&mut shard, store, false, Vec::new()).refused, "");
    }
    let more = slice(&mut shard, 9_999, false, Vec::new());
    assert_eq!(more.refused, "too_many_dead_stores");
    assert_eq!(slice(&mut shard, 5, true, vec![b'Z']).refused, "");
}

#[test]
fn a_child_knows_the_dead_stores_and_takes_over_what_ended_at_its_parent() {
    let mut shard = Shard::new();
    let url = "http://a.example/";
    shard.add_allowed(&[url]);
    fetch(&mut shard, page(1, &[DEAD]));
    // So long that the host is forgotten: its URL's end stays in the parent's books.
    shard.pass(400 * DAY_MS);
    shard.tick();
    assert_eq!(shard.try_host(url), None);
    slice(&mut shard, DEAD, false, Vec::new());
    let split = shard.split(2, partition(url), 0);
    assert!(matches!(split, SplitReply::Done(_)), "{split:?}");
    let mut child = shard.child();
    assert_eq!(child.m.dead_stores(), [DEAD]);
    assert_eq!(lose(&mut child, DEAD), (1, 0, 0));
    let terms = child.m.status().terms;
    assert_eq!((terms.accepted, terms.queued), (1, 1));
    assert_eq!(child.counter(Counter::SplitTakenOver), 1);
    child.rebuild();
}
