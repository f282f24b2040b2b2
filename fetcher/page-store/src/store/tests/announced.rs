//! Puts whose digest comes before their bytes.

use std::time::Duration;

use super::*;
use crate::announcement::{Announced, Announcement, Wanted};
use crate::deflated::Deflated;

const PATIENCE: Duration = Duration::from_secs(60);

fn announcement(payload: &'static str) -> Announcement {
    Announcement {
        capture: capture("http://a.example/", ""),
        digest: Digest::of(payload.as_bytes()),
        payload_size_bytes: payload.len() as u64,
    }
}

async fn wanted(store: &PageStore, payload: &'static str) -> Wanted {
    match store.announce(announcement(payload), PATIENCE).await {
        Ok(Announced::Wanted(wanted)) => *wanted,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn new_bytes_are_asked_for_and_known_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let awaited = wanted(&store, "hello").await;
    assert!(!store.contains(&Digest::of(b"hello")).unwrap());
    let put = store.put_wanted(awaited, "hello".into()).await.unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
    let again = store
        .announce(announcement("hello"), PATIENCE)
        .await
        .unwrap();
    assert!(matches!(again, Announced::Known(put) if put.outcome == Outcome::Duplicate));
    let last = store.records().last().unwrap().unwrap();
    assert_eq!(last.kind, RecordKind::Duplicate);
    let length = (b"Content-Length".to_vec(), b"5".to_vec());
    assert!(
        last.headers
            .iter()
            .any(|(name, value)| (name.as_bytes(), value) == (&length.0[..], &length.1)),
        "the head tells the length of bytes that were not sent: {:?}",
        last.headers
    );
    assert_eq!(store.scrub().problems, []);
}

#[tokio::test]
async fn other_bytes_than_announced_are_refused_and_leave_no_claim() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for wrong in ["hellO", "hell", "hello!"] {
        let awaited = wanted(&store, "hello").await;
        let refused = store.put_wanted(awaited, wrong.into()).await;
        assert!(
            matches!(refused, Err(PutError::NotAsAnnounced { announced_bytes: 5, found, .. }) if found == Digest::of(wrong.as_bytes())),
            "{refused:?}"
        );
    }
    assert_eq!(store.stats().records, 0);
    let put = store
        .put(capture("http://a.example/", "hello"))
        .await
        .unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
}

#[tokio::test]
async fn a_second_put_of_a_digest_waits_for_the_first_and_takes_over_when_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = wanted(&store, "hello").await;
    let second = {
        let store = store.clone();
        tokio::spawn(async move { store.announce(announcement("hello"), PATIENCE).await })
    };
    let impatient = store
        .announce(announcement("hello"), Duration::ZERO)
        .await
        .unwrap();
    assert!(
        matches!(&impatient, Announced::Wanted(wanted) if wanted.claim.is_none()),
        "without patience the bytes are taken too"
    );
    assert!(!second.is_finished());
    drop(first);
    let Announced::Wanted(second) = second.await.unwrap().unwrap() else {
        panic!("nothing was stored");
    };
    let put = store.put_wanted(*second, "hello".into()).await.unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
    let Announced::Wanted(impatient) = impatient else {
        panic!("checked above");
    };
    let put = store.put_wanted(*impatient, "hello".into()).await.unwrap();
    assert_eq!(put.outcome, Outcome::Duplicate);
    assert_eq!(store.stats().payloads, 1);
}

#[tokio::test]
async fn awaited_bytes_take_room_and_give_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut tight = options(dir.path());
    tight.waiting_max_size_bytes = 1_024;
    let store = PageStore::open(tight).unwrap();
    let first = wanted(&store, "hello").await;
    let second = {
        let store = store.clone();
        tokio::spawn(async move { wanted(&store, "other").await })
    };
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!second.is_finished(), "there is room for one");
    drop(first);
    let put = store
        .put_wanted(second.await.unwrap(), "other".into())
        .await;
    assert_eq!(put.unwrap().outcome, Outcome::Stored);
    let too_large = Announcement {
        payload_size_bytes: 1 << 40,
        ..announcement("x")
    };
    assert!(matches!(
        store.announce(too_large, PATIENCE).await,
        Err(PutError::TooLarge { .. })
    ));
}

#[tokio::test]
async fn deflated_bytes_are_stored_as_they_came_and_read_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let payload: &str = Box::leak("<p>again</p>".repeat(1_000).into_boxed_str());
    let deflated = Deflated::of(payload.as_bytes(), 4).unwrap();
    // Bytes of another payload, cut ones, and ones that say less than was announced.
    let other = Deflated::of("<p>other</p>".repeat(1_000).as_bytes(), 4).unwrap();
    let cut = Deflated::from_bytes(deflated.bytes().slice(..deflated.bytes().len() - 1));
    let short = Deflated::of("<p>again</p>".repeat(999).as_bytes(), 4).unwrap();
    for wrong in [other, cut, short] {
        let awaited = wanted(&store, payload).await;
        let refused = store.put_wanted_deflated(awaited, wrong).await;
        assert!(
            matches!(
                refused,
                Err(PutError::NotAsAnnounced { .. } | PutError::Deflate(_))
            ),
            "{refused:?}"
        );
    }
    let awaited = wanted(&store, payload).await;
    let put = store
        .put_wanted_deflated(awaited, deflated.clone())
        .await
        .unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
    let place = put.place;
    assert!(place.size_bytes < deflated.bytes().len() as u64 + 1_024);
    let page = store.get(&put.digest).unwrap().unwrap();
    assert_eq!(page.payload, payload.as_bytes());
    assert_eq!(store.scrub().problems, []);
}
