//! What happens when the disk refuses: nothing is acknowledged, nothing is lost, and the next put tries again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::error::PutError;
use crate::page::{Outcome, Put};
use crate::segment;
use crate::store::PageStore;
use crate::testing::{FaultyDisk, capture, noise, options};

async fn put(store: &PageStore, seed: u64) -> Result<Put, PutError> {
    store
        .put(capture("http://a.example/", noise(seed, 1_000)))
        .await
}

fn open(dir: &std::path::Path, disk: &FaultyDisk) -> PageStore {
    PageStore::open_on(disk.clone(), options(dir)).unwrap()
}

fn size_bytes(dir: &std::path::Path, number: u32) -> u64 {
    std::fs::metadata(segment::path(dir, number)).unwrap().len()
}

#[tokio::test]
async fn a_full_disk_is_said_cut_back_and_recovered_from() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    let first = put(&store, 1).await.unwrap();
    disk.0.lock().space_left_bytes = Some(300);
    let full = put(&store, 2).await;
    assert!(
        matches!(&full, Err(PutError::Full { what }) if what.contains("pages-000001.warc.gz")),
        "{full:?}"
    );
    assert_eq!(
        size_bytes(dir.path(), 1),
        first.place.end_bytes(),
        "the part that was written is gone"
    );
    assert!(
        !store
            .contains(&crate::Digest::of(&noise(2, 1_000)))
            .unwrap()
    );
    disk.0.lock().space_left_bytes = None;
    let second = put(&store, 2).await.unwrap();
    assert_eq!(
        (second.outcome, second.place.offset_bytes),
        (Outcome::Stored, first.place.end_bytes())
    );
    drop(store);
    assert_eq!(open(dir.path(), &disk).scrub().problems, []);
}

#[tokio::test]
async fn what_must_stay_free_is_not_taken() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let mut careful = options(dir.path());
    careful.min_free_bytes = 5_000;
    let store = PageStore::open_on(disk.clone(), careful).unwrap();
    disk.0.lock().space_left_bytes = Some(4_999);
    let full = put(&store, 1).await;
    assert!(
        matches!(&full, Err(PutError::Full { what }) if what.contains("4999 bytes are left")),
        "{full:?}"
    );
    assert_eq!(segment::list(dir.path()).unwrap(), []);
    disk.0.lock().space_left_bytes = Some(50_000);
    assert_eq!(put(&store, 1).await.unwrap().outcome, Outcome::Stored);
    assert_eq!(store.stats().payloads, 1);
}

#[tokio::test]
async fn a_full_disk_at_the_first_put_leaves_no_file_and_is_recovered_from() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    disk.0.lock().space_left_bytes = Some(10);
    let store = open(dir.path(), &disk);
    assert!(matches!(put(&store, 1).await, Err(PutError::Full { .. })));
    assert_eq!(segment::list(dir.path()).unwrap(), []);
    disk.0.lock().space_left_bytes = None;
    assert_eq!(put(&store, 1).await.unwrap().place.segment, 1);
}

#[tokio::test]
async fn a_file_that_cannot_be_cut_yet_is_cut_before_the_next_write() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    let first = put(&store, 1).await.unwrap();
    disk.0.lock().space_left_bytes = Some(300);
    disk.0.lock().failing_truncates = 2;
    assert!(matches!(put(&store, 2).await, Err(PutError::Full { .. })));
    disk.0.lock().space_left_bytes = None;
    assert!(
        matches!(put(&store, 2).await, Err(PutError::Io { .. })),
        "still not cut"
    );
    let second = put(&store, 2).await.unwrap();
    assert_eq!(second.place.offset_bytes, first.place.end_bytes());
    assert_eq!(store.scrub().problems, []);
}

#[tokio::test]
async fn after_a_failed_sync_the_records_go_to_a_new_segment() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    let first = put(&store, 1).await.unwrap();
    // The failed sync loses the bytes it was for, and the next sync of that file would succeed.
    disk.0.lock().failing_syncs = 1;
    let second = put(&store, 2).await.unwrap();
    assert_eq!((first.place.segment, second.place.segment), (1, 2));
    assert_eq!(size_bytes(dir.path(), 1), first.place.end_bytes());
    drop(store);
    let store = open(dir.path(), &disk);
    assert_eq!(
        store.get(&second.digest).unwrap().unwrap().payload,
        noise(2, 1_000)
    );
    assert_eq!(store.scrub().problems, []);
}

#[tokio::test]
async fn while_syncs_fail_nothing_is_acknowledged_and_then_it_is_recovered_from() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    put(&store, 1).await.unwrap();
    disk.0.lock().failing_syncs = u32::MAX;
    disk.0.lock().failing_truncates = 1;
    for _ in 0..3 {
        let failed = put(&store, 2).await;
        assert!(
            matches!(&failed, Err(PutError::Io { what }) if what.contains("injected")),
            "{failed:?}"
        );
        assert!(
            !store
                .contains(&crate::Digest::of(&noise(2, 1_000)))
                .unwrap()
        );
    }
    disk.0.lock().failing_syncs = 0;
    let second = put(&store, 2).await.unwrap();
    assert_eq!(second.outcome, Outcome::Stored);
    assert_eq!(
        segment::list(dir.path()).unwrap(),
        [1, second.place.segment],
        "attempts leave no segments behind"
    );
    drop(store);
    // The first segment could not be cut: its seal says where it ends.
    let store = open(dir.path(), &disk);
    assert_eq!(store.scrub().problems, []);
    assert_eq!(store.stats().payloads, 2);
}

#[tokio::test]
async fn those_that_waited_for_a_put_that_failed_try_for_themselves() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    put(&store, 1).await.unwrap();
    disk.0.lock().space_left_bytes = Some(0);
    let (a, b, c) = tokio::join!(put(&store, 2), put(&store, 2), put(&store, 2));
    for failed in [a, b, c] {
        assert!(matches!(failed, Err(PutError::Full { .. })), "{failed:?}");
    }
    disk.0.lock().space_left_bytes = None;
    let (a, b, c) = tokio::join!(put(&store, 2), put(&store, 2), put(&store, 2));
    let outcomes = [a, b, c].map(|put| put.unwrap().outcome);
    assert_eq!(
        outcomes
            .iter()
            .filter(|outcome| **outcome == Outcome::Stored)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_new_segment_and_its_name_are_durable_before_a_record_goes_in() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = PageStore::open_on(
        disk.clone(),
        crate::StoreOptions {
            segment_max_size_bytes: 2_000,
            ..options(dir.path())
        },
    )
    .unwrap();
    disk.0.lock().calls.clear();
    let creation = ["append", "sync", "sync names of 1", "append", "sync"];
    put(&store, 1).await.unwrap();
    assert_eq!(disk.0.lock().calls, creation);
    disk.0.lock().calls.clear();
    assert_eq!(put(&store, 2).await.unwrap().place.segment, 2);
    assert_eq!(
        disk.0.lock().calls,
        creation.map(|call| call.replace('1', "2"))
    );
}

#[tokio::test]
async fn a_segment_whose_name_is_not_durable_is_not_used() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let store = open(dir.path(), &disk);
    disk.0.lock().failing_dir_syncs = 2;
    for _ in 0..2 {
        assert!(matches!(put(&store, 1).await, Err(PutError::Io { .. })));
    }
    let stored = put(&store, 1).await.unwrap();
    assert_eq!(stored.place.segment, 1);
    assert_eq!(store.records().count(), 2, "one warcinfo and the page");
    assert_eq!(store.scrub().problems, []);
}
