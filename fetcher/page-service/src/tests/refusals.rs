//! What a store refuses, by name, and that nothing is left behind.

use bytes::Bytes;
use page_store::{Deflated, Digest, Outcome, StoreOptions};
use pb::put_request::Part;
use proto::store_v1 as pb;
use proto::store_v1::store_client::StoreClient as Raw;
use tokio_stream::wrappers::ReceiverStream;

use super::support::{Served, Stores, capture, noise, until};
use crate::{Parcel, ServiceOptions, StoreCallError, wire};

/// A put spoken by hand: a head, then what is given as chunks.
async fn raw_put(
    served: &Served,
    head: pb::PutHead,
    chunks: Vec<Bytes>,
) -> Result<Vec<pb::PutResponse>, StoreCallError> {
    raw_parts(served, head, chunks.into_iter().map(Part::Chunk).collect()).await
}

/// A put spoken by hand.
async fn raw_parts(
    served: &Served,
    head: pb::PutHead,
    rest: Vec<Part>,
) -> Result<Vec<pb::PutResponse>, StoreCallError> {
    let mut raw = Raw::connect(format!("http://{}", served.address()))
        .await
        .unwrap();
    let parts = std::iter::once(Part::Head(head)).chain(rest);
    let parts = parts.map(|part| pb::PutRequest { part: Some(part) });
    let parts: Vec<pb::PutRequest> = parts.collect();
    let mut answers = raw.put(tokio_stream::iter(parts)).await?.into_inner();
    let mut heard = Vec::new();
    while let Some(answer) = answers.message().await? {
        heard.push(answer);
    }
    Ok(heard)
}

fn head(payload: &[u8], announced: &[u8]) -> pb::PutHead {
    let page = capture("http://a.example/", payload.to_vec());
    wire::put_head(&page, &Digest::of(announced), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_as_announced_is_refused_and_nothing_is_stored() {
    let stores = Stores::new(1).await;
    let served = stores.get(1);
    let chunk = Bytes::from_static;
    let lies = [
        (head(b"truth", b"other"), vec![chunk(b"truth")]),
        (head(b"truth", b"truth"), vec![chunk(b"trut")]),
        (head(b"truth", b"truth"), vec![chunk(b"truth"), chunk(b"!")]),
        (head(b"truth", b"truth"), vec![]),
    ];
    for (head, chunks) in lies {
        let refused = raw_put(served, head, chunks).await;
        assert!(
            matches!(refused, Err(StoreCallError::NotAsAnnounced { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(served.store.stats().records, 0);
    // No claim is left behind.
    let put = served
        .client()
        .put(&Parcel::new(capture("http://a.example/", "truth")).await)
        .await;
    assert_eq!(put.unwrap().outcome, Outcome::Stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn deflated_bytes_that_are_not_the_payload_are_refused() {
    let stores = Stores::new(1).await;
    let served = stores.get(1);
    let payload = b"<p>again</p>".repeat(500);
    let whole = Deflated::of(&payload, 4).unwrap().bytes().clone();
    let other = Deflated::of(&b"<p>other</p>".repeat(500), 4).unwrap();
    let longer = Deflated::of(&b"<p>again</p>".repeat(501), 4).unwrap();
    let fine = head(&payload, &payload);
    let lies = [
        vec![Part::Deflated(other.bytes().clone())],
        vec![Part::Deflated(longer.bytes().clone())],
        vec![Part::Deflated(whole.slice(1..))],
        vec![Part::Deflated(whole.slice(..whole.len() - 1))],
        vec![Part::Deflated(payload.clone().into())],
        vec![Part::Deflated(noise(1, 100))],
    ];
    for lie in lies {
        let refused = raw_parts(served, fine.clone(), lie).await;
        assert!(
            matches!(refused, Err(StoreCallError::NotAsAnnounced { .. })),
            "{refused:?}"
        );
    }
    let mixed = vec![
        Part::Deflated(whole.slice(..10)),
        Part::Chunk(payload.clone().into()),
    ];
    let refused = raw_parts(served, fine.clone(), mixed).await;
    assert!(matches!(refused, Err(StoreCallError::Invalid { .. })));
    assert_eq!(served.store.stats().records, 0);
    // In pieces of any size it is the same.
    let pieces = whole.chunks(7).map(Bytes::copy_from_slice);
    let pieces = pieces.map(Part::Deflated).collect();
    raw_parts(served, fine, pieces).await.unwrap();
    assert_eq!(served.store.stats().payloads, 1);
    assert_eq!(served.store.scrub().problems, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_invalid() {
    let stores = Stores::new(1).await;
    let served = stores.get(1);
    let fine = head(b"x", b"x");
    let wrong = [
        pb::PutHead {
            url: "http://a.example/ b".to_owned(),
            ..fine.clone()
        },
        pb::PutHead {
            digest: Bytes::from_static(b"short"),
            ..fine.clone()
        },
        pb::PutHead {
            status: 7,
            ..fine.clone()
        },
    ];
    for head in wrong {
        let refused = raw_put(served, head, vec![Bytes::from_static(b"x")]).await;
        assert!(
            matches!(refused, Err(StoreCallError::Invalid { .. })),
            "{refused:?}"
        );
    }
    let empty_chunk = raw_put(served, fine.clone(), vec![Bytes::new()]).await;
    assert!(matches!(empty_chunk, Err(StoreCallError::Invalid { .. })));
    let another = pb::PutHead {
        store_id: 65_537,
        ..fine
    };
    let refused = raw_put(served, another, vec![]).await;
    assert_eq!(refused, Err(StoreCallError::WrongStore { store_id: 1 }));
    assert_eq!(served.store.stats().records, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_by_name_before_its_bytes_are_sent() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = StoreOptions::new(dir.path());
    small.payload_max_size_bytes = 1_000;
    let served = Served::with(small, 1, ServiceOptions::default()).await;
    let client = served.client();
    let payload = noise(3, 1_001);
    let refused = client
        .put(&Parcel::new(capture("http://a.example/", payload)).await)
        .await;
    assert_eq!(served.store.stats().records, 0);
    assert!(
        matches!(&refused, Err(StoreCallError::OverLimit { limit, value: 1_001, max: 1_000, retry_after_ms: 0 }) if limit == "payload_size_bytes"),
        "{refused:?}"
    );
    assert_eq!(client.sent_payload_bytes(), 0);
    // A head beyond the message limit is the capture's fault, not the connection's.
    let mut flood = capture("http://a.example/", "x");
    flood.headers = vec![("Set-Cookie".to_owned(), vec![b'x'; 2 << 20])];
    let refused = client.put(&Parcel::new(flood.clone()).await).await;
    assert!(
        matches!(refused, Err(StoreCallError::Invalid { .. })),
        "{refused:?}"
    );
    // The largest head that a store takes fits a message, however small its fields are.
    flood.headers = vec![("a".to_owned(), Vec::new()); 500 * 1_024 / 20];
    let put = client.put(&Parcel::new(flood.clone()).await).await.unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_puts_than_may_be_open_are_told_to_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let one = ServiceOptions {
        open_puts_max_count: 1,
        ..ServiceOptions::default()
    };
    let served = Served::with(StoreOptions::new(dir.path()), 1, one).await;
    let (parts, stream) = tokio::sync::mpsc::channel(1);
    let mut raw = Raw::connect(format!("http://{}", served.address()))
        .await
        .unwrap();
    let open = raw.put(ReceiverStream::new(stream)).await.unwrap();
    let client = served.client();
    let page = Parcel::new(capture("http://a.example/", "x")).await;
    let refused = client.put(&page).await;
    assert!(
        matches!(&refused, Err(error @ StoreCallError::OverLimit { retry_after_ms: 1.., .. }) if !error.is_final()),
        "{refused:?}"
    );
    drop((parts, open));
    until(|| async { client.put(&page).await.is_ok() }).await;
    assert_eq!(served.store.stats().payloads, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_sender_loses_its_claim() {
    let dir = tempfile::tempdir().unwrap();
    let impatient = ServiceOptions {
        part_timeout_ms: 50,
        ..ServiceOptions::default()
    };
    let served = Served::with(StoreOptions::new(dir.path()), 1, impatient).await;
    let (parts, stream) = tokio::sync::mpsc::channel(1);
    let part = Part::Head(head(b"x", b"x"));
    parts
        .send(pb::PutRequest { part: Some(part) })
        .await
        .unwrap();
    let mut raw = Raw::connect(format!("http://{}", served.address()))
        .await
        .unwrap();
    let mut answers = raw
        .put(ReceiverStream::new(stream))
        .await
        .unwrap()
        .into_inner();
    assert!(answers.message().await.unwrap().is_some(), "it is wanted");
    let late = StoreCallError::from(answers.message().await.unwrap_err());
    assert!(matches!(late, StoreCallError::Unavailable { .. }), "{late}");
    drop(parts);
    let put = served
        .client()
        .put(&Parcel::new(capture("http://a.example/", "x")).await)
        .await;
    assert_eq!(put.unwrap().outcome, Outcome::Stored);
}
