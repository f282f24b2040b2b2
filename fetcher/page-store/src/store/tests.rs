//! The store through its handle: what is put comes back, once, durable, verified.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::capture::Truncated;
use crate::error::{BadRecord, GetError, InvalidCapture};
use crate::page::Place;
use crate::records::RecordKind;
use crate::segment;
use crate::stats::StoreStats;
use crate::testing::{capture, noise, options, overwrite};

mod announced;
mod damage;
mod model;
mod refusals;
mod together;

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

// case K11: what the disk did to a page is noticed on read, named by scrub, and hurts no other page.

// case K11: a whole record in a wrong place has a right checksum; only the digest tells.
