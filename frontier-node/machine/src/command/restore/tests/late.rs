//! Cuts that are made one after another: what moved between them.

use super::*;
use crate::{
    ShardId, UrlState,
    backup::Begun,
    command::{report::RobotsCode, set_policy::CrawlPolicy},
};

fn begun(shard: &Shard) -> (Begun, Vec<BackupRow>) {
    let cut = cut(&shard.rows, ShardId(1)).cut;
    let rows = rows_in(&shard.rows, backup::begin_ranges(ShardId(1), &cut));
    let mut begun = Begun {
        token: cut.token,
        ..Begun::default()
    };
    rows.iter().for_each(|row| begun.take(row).unwrap());
    (begun, rows)
}

/// One page done before the backup began, one leased then and one later, both reported before the cut; and one still leased.
fn crawled() -> (Shard, Begun) {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    for n in 0..4 {
        shard.add(&[&format!("http://h{n}.example/")]);
    }
    for lease in shard.lease(4) {
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    }
    shard.pass(1_000);
    let (before, _) = shard.lease_page();
    shard.close(&before, answered(0), stored(1));
    let (across, _) = shard.lease_page();
    let (begun, _) = begun(&shard);
    shard.close(&across, answered(0), stored(2));
    let (after, _) = shard.lease_page();
    shard.close(&after, answered(0), stored(3));
    let _out = shard.lease_page();
    (shard, begun)
}

#[test]
fn pages_reported_since_the_backup_began_are_fetched_again_and_read() {
    let (shard, begun) = crawled();
    let sources = vec![cut(&shard.rows, ShardId(1))];
    let late = sources[0].rows.iter();
    let late: Vec<Page> = late.filter_map(|row| begun.is_late(row).unwrap()).collect();
    assert_eq!(late.len(), 2);
    let mut target = empty(11, 0, u64::MAX);
    taken(&mut target, Step::Begin(begin(&sources)));
    for batch in batches(&target, &sources, 9) {
        taken(&mut target, Step::Rows(batch));
    }
    taken(&mut target, Step::Build(Build {}));
    let again = Step::Again(Again { pages: late });
    assert_eq!(taken(&mut target, again.clone()).queued, 2);
    // After an interruption they are sent once more.
    assert_eq!(taken(&mut target, again).queued, 0);
    taken(&mut target, Step::Close(Close {}));
    recovered(&mut target);
    check(&mut target);
    let states = (0..4).map(|n| target.url(&format!("http://h{n}.example/")).unwrap());
    let states: Vec<_> = states.collect();
    let scheduled = states.iter().filter(|url| url.state == UrlState::Scheduled);
    assert_eq!(scheduled.count(), 1);
    let queued = states.iter().filter(|url| url.state == UrlState::Queued);
    assert_eq!(queued.clone().count(), 3);
    assert!(queued.clone().all(|url| url.etag.is_empty()));
}

// P2: it was acknowledged when the backup began, and had left its sender and not reached its owner at their cuts.
#[test]
fn what_waited_in_the_outbox_when_the_backup_began_is_there() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    let foreign = item(link(CRAWL, "http://far.example/", 0));
    let report = crate::command::report::Report {
        undelivered: vec![foreign],
        ..page_report(&lease, answered(0), stored(1))
    };
    shard.report(vec![report]);
    let (_, rows) = begun(&shard);
    let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
    assert_eq!(
        rows.iter()
            .filter(|row| backup::is_outbox(&row.key))
            .count(),
        1
    );
    assert_eq!(shard.deliver(keys), 1);
    let sources = vec![cut(&shard.rows, ShardId(1))];
    let mut target = empty(11, 0, u64::MAX);
    taken(&mut target, Step::Begin(begin(&sources)));
    let mut all = batches(&target, &sources, 9);
    let mut waited = rows;
    waited.retain(|row| backup::is_outbox(&row.key));
    for _ in 0..2 {
        all.push(Rows {
            sequence: all.len() as u64 + 1,
            source_now_ms: sources[0].cut.now_ms,
            rows: RowList {
                rows: waited.clone(),
            }
            .encode_to_vec(),
        });
    }
    for batch in all {
        taken(&mut target, Step::Rows(batch));
    }
    taken(&mut target, Step::Build(Build {}));
    taken(&mut target, Step::Close(Close {}));
    check(&mut target);
    assert_eq!(target.m.status().outbox.waiting, 1);
}
