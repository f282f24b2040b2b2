//! Copies that are damaged, lost or out of reach, and the others that help.

use std::os::unix::fs::FileExt;

use page_store::Digest;

use super::support::{Stores, capture, noise, until};
use crate::{ScrubEvent, StoreCallError};

/// Flips one byte in the middle of a store's only segment's last record.
fn flip(stores: &Stores, store_id: u32) {
    let path = stores.dirs[store_id as usize - 1]
        .path()
        .join("pages-000001.warc.gz");
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let at = file.metadata().unwrap().len() - 500;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

// case K11: what the disk did to a page is noticed on read; the other copy helps.

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_is_reported_and_the_other_one_read() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    let payload = noise(1, 5_000);
    let put = cluster
        .put(capture("http://a.example/", payload.clone()))
        .await
        .unwrap();
    let (bad, good) = (put.stores[0], put.stores[1]);
    flip(&stores, bad);
    let got = cluster
        .get_from(&[bad, good], &put.digest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((got.page.payload, got.store_id), (payload.clone(), good));
    assert_eq!(got.failed.len(), 1);
    assert_eq!(got.failed[0].store_id, bad);
    assert!(
        matches!(&got.failed[0].error, StoreCallError::Damaged { reason } if reason.contains("pages-000001")),
        "{:?}",
        got.failed
    );
    let anywhere = cluster.get(&put.digest).await.unwrap().unwrap();
    assert_eq!(anywhere.page.payload, payload);
    assert!(cluster.metrics().failed_reads >= 1);
    flip(&stores, good);
    let lost = cluster.get(&put.digest).await.unwrap_err();
    assert_eq!(lost.failed.len(), 2);
    assert!(lost.to_string().contains("damaged"), "{lost}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_is_nothing_only_where_all_answer() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(1);
    let unknown = Digest::of(b"unknown");
    assert_eq!(cluster.get(&unknown).await, Ok(None));
    assert_eq!(cluster.get_from(&[1, 2], &unknown).await, Ok(None));
    let put = cluster
        .put(capture("http://a.example/", "x"))
        .await
        .unwrap();
    let holder = put.stores[0];
    let other = holder % 3 + 1;
    // A store that lost its copy is reported.
    let got = cluster
        .get_from(&[other, holder], &put.digest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(got.failed[0].error, StoreCallError::UnknownDigest);
    stores.get(holder).proxy.kill();
    until(|| async { cluster.status(holder).await.is_err() }).await;
    let gone = cluster.get(&put.digest).await.unwrap_err();
    assert_eq!(gone.failed.len(), 1);
    assert!(matches!(
        gone.failed[0].error,
        StoreCallError::NoAnswer { .. }
    ));
    assert!(cluster.get_from(&[holder], &put.digest).await.is_err());
    let strange = cluster.get_from(&[77], &put.digest).await.unwrap_err();
    assert!(strange.to_string().contains("no store 77 is known"));
    stores.get(holder).proxy.revive().await;
    until(|| async {
        cluster
            .get(&put.digest)
            .await
            .is_ok_and(|got| got.is_some())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrub_from_afar_finds_a_flipped_byte() {
    let stores = Stores::new(1).await;
    let cluster = stores.cluster(1);
    for seed in 0..12 {
        cluster
            .put(capture("http://a.example/", noise(seed, 1 << 20)))
            .await
            .unwrap();
    }
    let mut progress = Vec::new();
    let clean = cluster
        .scrub(1, |event| match event {
            ScrubEvent::Progress(so_far) => progress.push(so_far),
            ScrubEvent::Problem(problem) => panic!("{problem}"),
        })
        .await
        .unwrap();
    assert_eq!((clean.payloads, clean.payload_bytes), (12, 12 << 20));
    assert_eq!((clean.problem_count, clean.records), (0, 13));
    assert!(
        progress
            .first()
            .is_some_and(|so_far| so_far.bytes < so_far.total_bytes),
        "{progress:?}"
    );
    flip(&stores, 1);
    let mut told = Vec::new();
    let report = cluster
        .scrub(1, |event| {
            if let ScrubEvent::Problem(problem) = event {
                told.push(problem);
            }
        })
        .await
        .unwrap();
    assert_eq!(report.payloads, 11);
    assert!(report.problem_count >= 1);
    assert_eq!(report.problems, told);
    assert!(told[0].to_string().contains("pages-000001.warc.gz at byte"));
    assert_eq!(report, stores.get(1).store.scrub());
    assert!(cluster.scrub(9, |_| {}).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_scrub_at_a_time_and_an_abandoned_one_ends() {
    let stores = Stores::new(1).await;
    let (cluster, client) = (stores.cluster(1), stores.get(1).client());
    for seed in 0..12 {
        cluster
            .put(capture("http://a.example/", noise(seed, 1 << 20)))
            .await
            .unwrap();
    }
    let scrubs = (0..4).map(|_| client.scrub(|_| {}));
    let outcomes = futures::future::join_all(scrubs).await;
    let busy = |outcome: &Result<_, StoreCallError>| matches!(outcome, Err(StoreCallError::OverLimit { limit, retry_after_ms: 1.., .. }) if limit == "scrubs");
    assert!(outcomes.iter().any(Result::is_ok));
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.is_ok() || busy(outcome))
    );
    drop(tokio::time::timeout(std::time::Duration::from_millis(1), client.scrub(|_| {})).await);
    until(|| async { client.scrub(|_| {}).await.is_ok() }).await;
}
