//! The store through its handle: what is put comes back, once, durable, verified.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::capture::Truncated;
use crate::error::{BadRecord, InvalidCapture};
use crate::page::Place;
use crate::records::RecordKind;
use crate::segment;
use crate::testing::{capture, noise, options, overwrite};

mod model;

fn open(dir: &Path) -> PageStore {
    PageStore::open(options(dir)).unwrap()
}

fn kinds(store: &PageStore) -> Vec<RecordKind> {
    store.records().map(|record| record.unwrap().kind).collect()
}

#[tokio::test]
async fn a_page_comes_back_before_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let page = Capture {
        truncated: Some(Truncated::Length),
        ..capture("http://a.example/", "hello")
    };
    let put = store.put(page.clone()).await.unwrap();
    assert_eq!(
        (put.digest, put.outcome, put.place.segment),
        (Digest::of(b"hello"), Outcome::Stored, 1)
    );
    let check = |store: &PageStore| {
        let got = store.get(&put.digest).unwrap().unwrap();
        assert_eq!(
            (got.payload, got.status, got.url),
            (page.payload.clone(), 200, page.url.clone())
        );
        assert_eq!(
            (got.captured_at_unix_ms, got.truncated),
            (page.captured_at_unix_ms, page.truncated)
        );
        assert_eq!(got.headers[0], page.headers[0]);
        assert!(store.contains(&put.digest).unwrap());
        assert_eq!(store.get(&Digest::of(b"other")), Ok(None));
        assert_eq!(store.scrub().problems, []);
    };
    check(&store);
    drop(store);
    check(&open(dir.path()));
}

// case K1: the digest is of the payload after transfer and content decoding, so framing and coding make no other page.
#[tokio::test]
async fn one_body_in_two_chunkings_two_codings_and_plain_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let framings: [&[(&str, &str)]; 4] = [
        &[("Transfer-Encoding", "chunked")],
        &[("Transfer-Encoding", "chunked"), ("X-Chunks", "many")],
        &[("Content-Length", "4")],
        &[("Content-Encoding", "gzip"), ("Content-Length", "24")],
    ];
    let mut outcomes = Vec::new();
    for (at, framing) in framings.iter().enumerate() {
        let mut page = capture(&format!("http://h{at}.example/"), "body");
        page.headers = framing
            .iter()
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect();
        let put = store.put(page).await.unwrap();
        assert_eq!(put.digest, Digest::of(b"body"));
        outcomes.push(put.outcome);
    }
    assert_eq!(
        outcomes,
        [
            Outcome::Stored,
            Outcome::Duplicate,
            Outcome::Duplicate,
            Outcome::Duplicate
        ]
    );
    let stats = store.stats();
    assert_eq!(
        (stats.payloads, stats.duplicates, stats.payload_bytes),
        (1, 3, 4)
    );
}

// case G5: a 304 keeps the digest it had. case K2: its record carries that digest and refers to the first capture.
#[tokio::test]
async fn an_unmodified_answer_keeps_its_digest_and_an_unknown_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let put = store.put(capture("http://a.example/", "v1")).await.unwrap();
    let again = UnmodifiedCapture {
        url: "http://a.example/".to_owned(),
        captured_at_unix_ms: 1_795_000_000_000,
        headers: vec![("ETag".to_owned(), b"\"1\"".to_vec())],
        digest: put.digest,
    };
    let kept = store.put_unmodified(again.clone()).await.unwrap();
    assert_eq!(
        (kept.digest, kept.outcome),
        (put.digest, Outcome::Duplicate)
    );
    let record = store.records().last().unwrap().unwrap();
    assert_eq!(
        (record.kind, record.digest, record.status),
        (RecordKind::Unmodified, Some(put.digest), Some(304))
    );
    assert_eq!(
        store.get(&put.digest).unwrap().unwrap().payload,
        Bytes::from("v1")
    );
    let digest = Digest::of(b"");
    let refused = store
        .put_unmodified(UnmodifiedCapture { digest, ..again })
        .await;
    assert_eq!(refused, Err(PutError::UnknownDigest { digest }));
    assert_eq!(store.stats().unmodified, 1);
}

// case G23: an empty answer is a payload of its own.
#[tokio::test]
async fn an_empty_payload_is_stored_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let put = store.put(capture("http://a.example/", "")).await.unwrap();
    assert_eq!(
        store.get(&put.digest).unwrap().unwrap().payload,
        Bytes::new()
    );
    assert_eq!(
        store
            .put(capture("http://b.example/", ""))
            .await
            .unwrap()
            .outcome,
        Outcome::Duplicate
    );
}

// case K10: many first writers at once make one segment; a full segment ends between records.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_writers_race_and_segments_rotate_between_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = options(dir.path());
    small.segment_max_size_bytes = 6_000;
    let store = PageStore::open(small.clone()).unwrap();
    let puts = (0..60u64).map(|seed| {
        let store = store.clone();
        let size_bytes = if seed == 30 { 20_000 } else { 1_000 };
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, size_bytes)))
                .await
                .unwrap()
        })
    });
    let puts: Vec<_> = puts.collect();
    let mut places: Vec<Place> = Vec::new();
    for put in puts {
        places.push(put.await.unwrap().place);
    }
    places.sort_unstable();
    let stats = store.stats();
    drop(store);
    let store = PageStore::open(small).unwrap();
    assert_eq!(
        StoreStats { fsyncs: 0, ..stats },
        StoreStats {
            fsyncs: 0,
            ..store.stats()
        }
    );
    let records: Vec<_> = store.records().map(Result::unwrap).collect();
    let infos: Vec<u32> = records
        .iter()
        .filter(|r| r.kind == RecordKind::Info)
        .map(|r| r.place.segment)
        .collect();
    assert_eq!(
        infos,
        (1..=stats.segments as u32).collect::<Vec<u32>>(),
        "one warcinfo opens each segment"
    );
    let stored: Vec<Place> = records
        .iter()
        .filter(|r| r.kind == RecordKind::Stored)
        .map(|r| r.place)
        .collect();
    assert_eq!(stored, places);
    assert_eq!(store.scrub().problems, []);
    drop(store);
    let mut oversized = 0;
    for number in segment::list(dir.path()).unwrap() {
        let size_bytes = fs::metadata(segment::path(dir.path(), number))
            .unwrap()
            .len();
        oversized += u32::from(size_bytes > 6_000);
        let reader = warc::WarcReader::from_path_gzip(segment::path(dir.path(), number)).unwrap();
        assert!(
            reader.iter_records().all(|record| record.is_ok()),
            "segment {number}"
        );
    }
    assert_eq!(oversized, 1, "only the page that is larger than a segment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_bytes_put_at_once_are_stored_once_and_all_refer_to_that() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let puts = (0..32).map(|at| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture(&format!("http://h{at}.example/"), "same"))
                .await
                .unwrap()
        })
    });
    let puts: Vec<_> = puts.collect();
    let mut stored = 0;
    for put in puts {
        stored += u32::from(put.await.unwrap().outcome == Outcome::Stored);
    }
    assert_eq!(stored, 1);
    let kinds = kinds(&store);
    assert_eq!(
        kinds[..2],
        [RecordKind::Info, RecordKind::Stored],
        "the first capture comes before all that refer to it"
    );
    assert_eq!(kinds.len(), 33);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn puts_that_wait_together_share_an_fsync() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let puts = (0..200u64).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, 10)))
                .await
                .unwrap()
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!(stats.payloads, 200);
    assert!(stats.fsyncs <= 201, "{stats:?}");
}

#[tokio::test]
async fn bad_input_is_refused_by_name_and_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = options(dir.path());
    small.payload_max_size_bytes = 10;
    let store = PageStore::open(small).unwrap();
    let refused = store.put(capture("http://a.example/", "eleven byte")).await;
    assert_eq!(
        refused,
        Err(PutError::TooLarge {
            size_bytes: 11,
            max_bytes: 10
        })
    );
    let refused = store.put(capture("http://a.example/\n", "x")).await;
    assert_eq!(
        refused,
        Err(PutError::Invalid(InvalidCapture::UrlCharacter))
    );
    let late = Capture {
        captured_at_unix_ms: u64::MAX,
        ..capture("http://a.example/", "x")
    };
    assert_eq!(
        store.put(late).await,
        Err(PutError::Invalid(InvalidCapture::Date(u64::MAX)))
    );
    assert_eq!(store.stats().records, 0);
    // The refused capture held no claim on its digest.
    assert_eq!(
        store
            .put(capture("http://a.example/", "x"))
            .await
            .unwrap()
            .outcome,
        Outcome::Stored
    );
}

#[tokio::test]
async fn a_put_that_is_dropped_leaves_no_claim() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for _ in 0..20 {
        let put = store.put(capture("http://a.example/", "x"));
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            _ = put => {}
        }
    }
    let put = store.put(capture("http://a.example/", "x")).await.unwrap();
    assert_eq!(put.digest, Digest::of(b"x"));
    assert_eq!(store.stats().payloads, 1);
}

#[tokio::test]
async fn a_directory_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let second = PageStore::open(options(dir.path())).map(|_| ());
    assert!(matches!(second, Err(OpenError::Locked { dir: named }) if named == dir.path()));
    drop(store);
    assert!(PageStore::open(options(dir.path())).is_ok());
}

#[test]
fn opening_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = options(dir.path());
    wrong.compression_level = 10;
    assert!(
        matches!(PageStore::open(wrong), Err(OpenError::Option(option)) if option.name == "compression_level")
    );
    let orphan = dir.path().join("no/parent");
    assert!(
        matches!(PageStore::open(options(&orphan)), Err(OpenError::Io { what: "create", path, .. }) if path == orphan)
    );
    fs::write(dir.path().join("store-id"), "xyz").unwrap();
    assert!(matches!(
        PageStore::open(options(dir.path())),
        Err(OpenError::StoreId { .. })
    ));
}

// case K11: what the disk did to a page is noticed on read, named by scrub, and hurts no other page.
#[tokio::test]
async fn a_damaged_record_is_named_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut puts = Vec::new();
    for seed in 0..3 {
        puts.push(
            store
                .put(capture("http://a.example/", noise(seed, 1_000)))
                .await
                .unwrap(),
        );
    }
    let place = puts[1].place;
    overwrite(
        &segment::path(dir.path(), 1),
        place.offset_bytes + place.size_bytes / 2,
        b"damage",
    );
    let damaged = store.get(&puts[1].digest);
    assert!(
        matches!(damaged, Err(GetError::Damaged { offset_bytes, .. }) if offset_bytes == place.offset_bytes),
        "{damaged:?}"
    );
    assert!(
        store.get(&puts[0].digest).unwrap().is_some()
            && store.get(&puts[2].digest).unwrap().is_some()
    );
    let report = store.scrub();
    assert_eq!((report.payloads, report.records), (2, 3));
    assert!(
        report
            .problems
            .iter()
            .all(|problem| problem.offset_bytes == Some(place.offset_bytes)),
        "{:?}",
        report.problems
    );
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.to_string().contains("pages-000001.warc.gz at byte"))
    );
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.what.contains("is lost"))
    );
    let errors = store.records().filter(Result::is_err).count();
    assert_eq!((errors, store.records().count()), (1, 4));
}

// case K11: a whole record in a wrong place has a right checksum; only the digest tells.
#[tokio::test]
async fn a_payload_that_is_another_one_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    // Two records of one size: the ids in them make sizes differ by a byte or two.
    let mut by_size = std::collections::BTreeMap::new();
    let mut seed = 0;
    let (first, second) = loop {
        seed += 1;
        let put = store
            .put(capture("http://a.example/", noise(seed, 500)))
            .await
            .unwrap();
        if let Some(earlier) = by_size.insert(put.place.size_bytes, put) {
            break (earlier, put);
        }
    };
    let path = segment::path(dir.path(), 1);
    let bytes = fs::read(&path).unwrap();
    let from = second.place.offset_bytes as usize;
    overwrite(
        &path,
        first.place.offset_bytes,
        &bytes[from..from + second.place.size_bytes as usize],
    );
    let wrong = store.get(&first.digest);
    let reason = BadRecord::Digest {
        wanted: first.digest,
        found: second.digest,
    };
    assert!(matches!(wrong, Err(GetError::Damaged { reason: found, .. }) if found == reason));
    assert!(store.scrub().problem_count > 0);
}

#[tokio::test]
async fn more_puts_than_may_wait_all_get_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut tight = options(dir.path());
    tight.waiting_max_count = 2;
    tight.waiting_max_size_bytes = 1_500;
    tight.group_max_size_bytes = 1;
    let store = PageStore::open(tight).unwrap();
    let puts = (0..20u64).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, 1_000)))
                .await
                .unwrap()
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    assert_eq!(store.stats().payloads, 20);
}
