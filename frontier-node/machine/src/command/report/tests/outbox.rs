//! Items that could not be delivered.

use super::*;

#[test]
fn undelivered_items_wait_in_the_outbox_until_delivered() {
    let (mut shard, lease) = leased();
    let items: Vec<_> = (0..3)
        .map(|n| item(link(CRAWL, &format!("http://far{n}.example/"), 5)))
        .collect();
    let report = Report {
        undelivered: items.clone(),
        ..page_report(&lease, answered(0), stored(1))
    };
    assert_eq!(shard.report(vec![report.clone()]), [Closed]);
    // A repeat puts nothing in again.
    assert_eq!(shard.report(vec![report]), [Closed]);
    shard.rebuild();
    let due = shard.m.outbox_due(&shard.rows, 10).unwrap();
    assert_eq!(
        due.iter().map(|(_, item)| item.clone()).collect::<Vec<_>>(),
        items
    );
    let keys: Vec<_> = due.into_iter().map(|(key, _)| key).collect();
    assert_eq!(shard.deliver(keys[..2].to_vec()), 2);
    assert_eq!(shard.deliver(keys.clone()), 1);
    assert_eq!(
        shard.deliver(vec![b"O".to_vec(), b"S12345678abcdefgh".to_vec()]),
        0
    );
    let outbox = shard.m.status().outbox;
    assert_eq!(
        (outbox.entered, outbox.waiting, outbox.delivered),
        (3, 0, 3)
    );
}

#[test]
fn a_full_outbox_requeues_the_page_with_back_off() {
    let (mut shard, lease) = leased();
    shard.m.meta.outbox_waiting = limits::OUTBOX_ROWS;
    shard.m.meta.outbox_in = limits::OUTBOX_ROWS;
    let undelivered = vec![item(Link::default())];
    let report = Report {
        undelivered,
        ..page_report(&lease, answered(0), stored(1))
    };
    assert_eq!(shard.report(vec![report.clone()]), [Requeued]);
    assert_eq!(shard.report(vec![report]), [Requeued]);
    let record = shard.url(URL).unwrap();
    assert_eq!(
        (record.state, record.attempts, record.digest.len()),
        (UrlState::Queued, 0, 0)
    );
    assert!(shard.host(URL).back_off_until_ms > shard.now_ms);
    // A page without undelivered items is taken.
    shard.pass(100_000);
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.close(&lease, answered(0), stored(1)), Closed);
}
