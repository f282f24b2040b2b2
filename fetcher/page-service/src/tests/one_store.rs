//! One store, called from afar.

use page_store::{Digest, Outcome, UnmodifiedCapture};
use pb::put_request::Part;
use proto::store_v1 as pb;
use proto::store_v1::store_client::StoreClient as Raw;
use tokio_stream::wrappers::ReceiverStream;

use super::support::{Stores, capture, noise, until};
use crate::{Parcel, StoreCallError, wire};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_travel_once_and_are_stored_once() {
    let stores = Stores::new(1).await;
    let (served, client) = (stores.get(1), stores.get(1).client());
    let payload = noise(1, 700_000);
    let digest = Digest::of(&payload);
    let first = capture("http://a.example/", payload.clone());
    let put = client.put(&Parcel::new(first.clone()).await).await.unwrap();
    assert_eq!((put.digest, put.outcome), (digest, Outcome::Stored));
    assert!(put.place.size_bytes > 0);
    assert_eq!(client.sent_payload_bytes(), 700_000);
    let before_bytes = served.proxy.received_bytes();
    let second = capture("http://b.example/", payload.clone());
    let put = client.put(&Parcel::new(second).await).await.unwrap();
    assert_eq!(put.outcome, Outcome::Duplicate);
    assert_eq!(client.sent_payload_bytes(), 700_000);
    let after_bytes = served.proxy.received_bytes();
    assert!(after_bytes - before_bytes < 2_000, "the head only");
    let page = client.get(&digest).await.unwrap();
    assert_eq!((page.payload, page.url), (payload, first.url));
    let status = client.status().await.unwrap();
    assert_eq!((status.stats.payloads, status.stats.duplicates), (1, 1));
    assert_eq!(
        (status.store_id, status.received_payload_bytes),
        (1, 700_000)
    );
    assert!(status.free_bytes > 0);
    assert_eq!(served.store.scrub().problems, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_small_and_chunk_sized_payloads_arrive() {
    let stores = Stores::new(1).await;
    let client = stores.get(1).client();
    for size_bytes in [0, 1, 256 << 10, (256 << 10) + 1, 3 << 20] {
        let payload = noise(size_bytes as u64, size_bytes);
        let digest = Digest::of(&payload);
        let put = client
            .put(&Parcel::new(capture("http://a.example/", payload.clone())).await)
            .await
            .unwrap();
        assert_eq!(put.outcome, Outcome::Stored, "{size_bytes}");
        assert_eq!(client.get(&digest).await.unwrap().payload, payload);
    }
    let unknown = Digest::of(b"unknown");
    let known = client.has(&[unknown, Digest::of(b"")]).await;
    assert_eq!(known, Ok(vec![false, true]));
    let got = client.get(&unknown).await;
    assert_eq!(got, Err(StoreCallError::UnknownDigest));
    let many = vec![unknown; crate::limits::HAS_DIGESTS + 1];
    assert!(matches!(
        client.has(&many).await,
        Err(StoreCallError::OverLimit { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_304_is_recorded_where_its_payload_is() {
    let stores = Stores::new(1).await;
    let client = stores.get(1).client();
    let digest = Digest::of(b"v1");
    let again = UnmodifiedCapture {
        url: "http://a.example/".to_owned(),
        captured_at_unix_ms: 1_795_000_000_000,
        headers: vec![("ETag".to_owned(), b"\"1\"".to_vec())],
        digest,
    };
    let refused = client.put_unmodified(&again).await;
    assert_eq!(refused, Err(StoreCallError::UnknownDigest));
    let first = capture("http://a.example/", "v1");
    client.put(&Parcel::new(first.clone()).await).await.unwrap();
    let put = client.put_unmodified(&again).await.unwrap();
    assert_eq!((put.digest, put.outcome), (digest, Outcome::Duplicate));
    assert_eq!(stores.get(1).store.stats().unmodified, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_puts_of_one_new_digest_at_once_send_it_once() {
    let stores = Stores::new(1).await;
    let client = stores.get(1).client();
    let payload = noise(2, 2 << 20);
    let put = |url: &'static str| {
        let (client, page) = (client.clone(), capture(url, payload.clone()));
        tokio::spawn(async move {
            let parcel = Parcel::new(page).await;
            client.put(&parcel).await.unwrap().outcome
        })
    };
    let puts = [put("http://a.example/"), put("http://b.example/")];
    let mut outcomes = Vec::new();
    for put in puts {
        outcomes.push(put.await.unwrap());
    }
    assert_ne!(outcomes[0], outcomes[1]);
    assert_eq!(client.sent_payload_bytes(), 2 << 20);
    let stats = stores.get(1).store.stats();
    assert_eq!((stats.payloads, stats.duplicates), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_cancelled_at_any_point_leaves_the_store_whole_and_the_digest_free() {
    let stores = Stores::new(1).await;
    let served = stores.get(1);
    let client = served.client();
    let payload = noise(4, 1 << 20);
    let digest = Digest::of(&payload);
    let page = Parcel::new(capture("http://a.example/", payload.clone())).await;
    for step in 0..40u64 {
        let put = client.put(&page);
        let cut = std::time::Duration::from_micros(step * step * 10);
        let _ = tokio::time::timeout(cut, put).await;
    }
    // A peer that vanishes with its connection, after it was asked for the bytes.
    let other = noise(5, 1_000);
    let (parts, stream) = tokio::sync::mpsc::channel(1);
    let head = wire::put_head(
        &capture("http://a.example/", other.clone()),
        &Digest::of(&other),
        1,
    );
    let part = pb::PutRequest {
        part: Some(Part::Head(head)),
    };
    parts.send(part).await.unwrap();
    let mut raw = Raw::connect(format!("http://{}", served.address()))
        .await
        .unwrap();
    let mut answers = raw
        .put(ReceiverStream::new(stream))
        .await
        .unwrap()
        .into_inner();
    assert!(answers.message().await.unwrap().is_some(), "it is wanted");
    drop((parts, answers, raw));

    client.put(&page).await.unwrap();
    let put = client
        .put(&Parcel::new(capture("http://b.example/", other.clone())).await)
        .await;
    assert_eq!(put.unwrap().outcome, Outcome::Stored);
    assert_eq!(client.get(&digest).await.unwrap().payload, payload);
    until(|| async {
        client
            .status()
            .await
            .is_ok_and(|status| status.open_puts == 0)
    })
    .await;
    let (stats, report) = (served.store.stats(), served.store.scrub());
    assert_eq!((stats.payloads, report.payloads), (2, 2));
    assert_eq!(report.problems, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_shrinks_travels_small_and_comes_back_whole() {
    let stores = Stores::new(2).await;
    let payload = "<p>the same, again and again</p>"
        .repeat(40_000)
        .into_bytes();
    let parcel = Parcel::new(capture("http://a.example/", payload.clone())).await;
    for served in &stores.served {
        let client = served.client();
        let put = client.put(&parcel).await.unwrap();
        assert_eq!(put.outcome, Outcome::Stored);
        let sent_bytes = client.sent_payload_bytes();
        assert!(sent_bytes < payload.len() as u64 / 20, "{sent_bytes}");
        let status = client.status().await.unwrap();
        assert_eq!(status.received_payload_bytes, sent_bytes);
        assert_eq!(client.get(&parcel.digest()).await.unwrap().payload, payload);
        assert_eq!(served.store.scrub().problems, []);
    }
}
