//! What is refused, and that it changes nothing.

use super::*;
use crate::{
    ShardId,
    command::{discover::Discover, lease::LeaseCall, set_policy::CrawlPolicy},
};

fn reason(target: &mut Shard, part: Step) -> String {
    let before = target.rows.rows.clone();
    let told = match step(target, part) {
        RestoreReply::Refused(reason) => reason,
        RestoreReply::Done(done) => panic!("{done:?}"),
    };
    assert_eq!(target.rows.rows, before);
    told
}

fn source() -> Vec<Source> {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    shard.add(&["http://b.example/1"]);
    let _held = shard.lease(1);
    vec![cut(&shard.rows, ShardId(1))]
}

#[test]
fn a_shard_that_has_anything_is_not_filled() {
    let sources = source();
    let mut with_policy = empty(11, 0, u64::MAX);
    with_policy.crawl(CrawlPolicy {
        crawl: 1,
        ..CrawlPolicy::default()
    });
    assert!(reason(&mut with_policy, Step::Begin(begin(&sources))).contains("policy"));
    let mut with_urls = Shard::new();
    with_urls.add(&["http://a.example/"]);
    assert!(reason(&mut with_urls, Step::Begin(begin(&sources))).contains("URLs"));
}

#[test]
fn a_second_restore_is_refused_and_a_repeat_answered() {
    let sources = source();
    let mut target = empty(11, 0, u64::MAX);
    restore(&mut target, &sources);
    let done = taken(&mut target, Step::Begin(begin(&sources)));
    assert_eq!(done.stage, Stage::Closed);
    let other = Restore {
        id: ID + 1,
        step: Some(Step::Begin(begin(&sources))),
    };
    let CommandReply::Restore(RestoreReply::Refused(reason)) = target.one(Body::Restore(other))
    else {
        panic!("taken");
    };
    assert!(reason.contains("another restore"), "{reason}");
    assert!(!batches(&target, &sources, 9).is_empty());
    for batch in batches(&target, &sources, 9) {
        assert_eq!(taken(&mut target, Step::Rows(batch)).stage, Stage::Closed);
    }
    check(&mut target);
}

#[test]
fn nobody_is_served_meanwhile() {
    let sources = source();
    let mut target = empty(11, 0, u64::MAX);
    taken(&mut target, Step::Begin(begin(&sources)));
    let offer = Body::Discover(Discover {
        items: vec![item(link(CRAWL, "http://c.example/", 0))],
    });
    let lease = Body::Lease(LeaseCall::default());
    for body in [offer, lease] {
        let before = target.rows.rows.clone();
        assert_eq!(target.one(body), CommandReply::BeingRestored);
        assert_eq!(target.rows.rows, before);
    }
}

#[test]
fn batches_that_make_no_sense_are_refused() {
    let sources = source();
    let mut target = empty(11, 0, u64::MAX);
    taken(&mut target, Step::Begin(begin(&sources)));
    let good = batches(&target, &sources, 99).pop().unwrap();
    let of = |key: &[u8], value: &[u8]| {
        let rows = vec![BackupRow {
            key: key.to_vec(),
            value: value.to_vec(),
        }];
        Step::Rows(Rows {
            rows: RowList { rows }.encode_to_vec(),
            ..good.clone()
        })
    };
    let cut_off = Rows {
        rows: good.rows[..good.rows.len() - 1].to_vec(),
        ..good.clone()
    };
    assert!(reason(&mut target, Step::Rows(cut_off)).contains("decode"));
    let late = Rows {
        source_now_ms: u64::MAX,
        ..good.clone()
    };
    assert!(reason(&mut target, Step::Rows(late)).contains("time"));
    let session = [b"N".as_slice(), &[0; 24]].concat();
    assert!(reason(&mut target, of(&session, b"")).contains("no known space"));
    let host = [b"H".as_slice(), &[0; 8], b"a"].concat();
    assert!(reason(&mut target, of(&host, &[255])).contains("host"));
    assert!(reason(&mut target, of(b"H", b"")).contains("short"));
    let mut narrow = empty(12, 0, 5);
    taken(&mut narrow, Step::Begin(begin(&sources)));
    assert!(reason(&mut narrow, Step::Rows(good)).contains("range"));
}

#[test]
fn rows_that_miss_a_batch_are_not_built_and_may_be_completed() {
    let sources = source();
    let mut target = empty(11, 0, u64::MAX);
    taken(&mut target, Step::Begin(begin(&sources)));
    let batches = batches(&target, &sources, 1);
    let is_queue = |batch: &&Rows| {
        let rows = RowList::decode(batch.rows.as_slice()).unwrap().rows;
        rows.iter().all(|row| row.key.first() == Some(&b'Q'))
    };
    let missing = batches.iter().rfind(is_queue).unwrap().clone();
    for batch in batches.iter().filter(|batch| **batch != missing) {
        taken(&mut target, Step::Rows(batch.clone()));
    }
    let told = reason(&mut target, Step::Build(Build {}));
    assert!(told.contains("queued"), "{told}");
    let again = Rows {
        sequence: batches.len() as u64 + 1,
        ..missing
    };
    taken(&mut target, Step::Rows(again));
    taken(&mut target, Step::Build(Build {}));
    taken(&mut target, Step::Close(Close {}));
    recovered(&mut target);
    check(&mut target);
}

#[test]
fn steps_out_of_order_are_refused() {
    let sources = source();
    let mut target = empty(11, 0, u64::MAX);
    assert!(reason(&mut target, Step::Build(Build {})).contains("not begun"));
    taken(&mut target, Step::Begin(begin(&sources)));
    assert!(reason(&mut target, Step::Close(Close {})).contains("Filling"));
    assert!(reason(&mut target, Step::Again(Again::default())).contains("Filling"));
    taken(&mut target, Step::Build(Build {}));
    let batch = batches(&target, &sources, 99).pop().unwrap();
    assert!(reason(&mut target, Step::Rows(batch)).contains("Built"));
}
