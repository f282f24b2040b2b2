//! Pages over several stores, some of which do not answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use page_store::{Digest, Outcome, UnmodifiedCapture};
use parking_lot::Mutex;

use super::support::{Stores, capture, cluster_of, noise, patient, until};
use crate::{ClusterPutError, ClusterStore, Ring, StoreCallError, StoreDirectory};

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_is_in_the_first_stores_of_its_ring_order() {
    let stores = Stores::new(3).await;
    let (cluster, ring) = (stores.cluster(2), Ring::new([1, 2, 3]));
    for seed in 0..30 {
        let payload = noise(seed, 2_000);
        let put = cluster
            .put(capture("http://a.example/", payload.clone()))
            .await
            .unwrap();
        assert_eq!(
            (put.digest, put.outcome),
            (Digest::of(&payload), Outcome::Stored)
        );
        let wanted: BTreeSet<u32> = ring.order(&put.digest)[..2].iter().copied().collect();
        assert_eq!(put.stores.iter().copied().collect::<BTreeSet<_>>(), wanted);
        for served in &stores.served {
            assert_eq!(
                served.store.contains(&put.digest).unwrap(),
                wanted.contains(&served.store_id)
            );
        }
    }
    assert_eq!(stores.payloads(), 60);
    assert_eq!(cluster.metrics().sent_payload_bytes, 60 * 2_000);
    // The same bytes again: recorded in both, sent to none.
    let again = cluster
        .put(capture("http://b.example/", noise(0, 2_000)))
        .await
        .unwrap();
    assert_eq!((again.outcome, again.stores.len()), (Outcome::Duplicate, 2));
    let metrics = cluster.metrics();
    assert_eq!(metrics.sent_payload_bytes, 60 * 2_000);
    assert_eq!((metrics.puts, metrics.copies), (31, 62));
    assert_eq!(stores.payloads(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_never_started_costs_one_try_not_one_a_page() {
    let stores = Stores::new(2).await;
    let mut list: Vec<(u32, String)> = Vec::new();
    list.extend(stores.served.iter().map(|s| (s.store_id, s.address())));
    list.push((3, nobody()));
    let cluster = cluster_of(list, 2);
    for seed in 0..60 {
        let put = cluster
            .put(capture("http://a.example/", noise(seed, 100)))
            .await;
        let mut ids = put.unwrap().stores;
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
    }
    assert_eq!(stores.payloads(), 120);
    assert_eq!(cluster.metrics().failed_copies, 1);
    let state = cluster.stores();
    assert!(state[2].reason.is_some() && state[0].reason.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_fewer_stores_than_copies_nothing_is_acknowledged_until_one_returns() {
    let stores = Stores::new(2).await;
    let cluster = stores.cluster(2);
    cluster
        .put(capture("http://a.example/", "first"))
        .await
        .unwrap();
    stores.get(2).proxy.kill();
    let page = || capture("http://a.example/", "second");
    until(|| async { cluster.put(page()).await.is_err() }).await;
    let refused = cluster.put(page()).await;
    assert!(
        matches!(&refused, Err(ClusterPutError::Unavailable { taken: 0, copies: 2, failed, .. })
            if failed.iter().any(|copy| copy.store_id == 2 && matches!(copy.error, StoreCallError::NoAnswer { .. }))),
        "{refused:?}"
    );
    let sent_bytes = cluster.metrics().sent_payload_bytes;
    let other = capture("http://a.example/", noise(7, 50_000));
    assert!(cluster.put(other.clone()).await.is_err());
    assert_eq!(
        cluster.metrics().sent_payload_bytes,
        sent_bytes,
        "one copy of two is not even begun"
    );
    stores.get(2).proxy.revive().await;
    until(|| async { cluster.put(page()).await.is_ok() }).await;
    let put = cluster.put(other).await.unwrap();
    assert_eq!(put.stores.len(), 2);
    assert!(cluster.stores().iter().all(|store| store.reason.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_killed_between_pages_is_left_out_and_gets_pages_when_it_is_back() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    for seed in 0..20 {
        cluster
            .put(capture("http://a.example/", noise(seed, 100)))
            .await
            .unwrap();
    }
    stores.get(1).proxy.kill();
    for seed in 100..120 {
        let put = cluster
            .put(capture("http://a.example/", noise(seed, 100)))
            .await
            .unwrap();
        assert_eq!(put.stores.len(), 2);
        assert!(!put.stores.contains(&1));
    }
    stores.get(1).proxy.revive().await;
    let mut seed = 1_000;
    loop {
        seed += 1;
        let put = cluster
            .put(capture("http://a.example/", noise(seed, 100)))
            .await
            .unwrap();
        assert_eq!(put.stores.len(), 2);
        if put.stores.contains(&1) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert!(cluster.metrics().probes > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_delays_one_page_and_no_other() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    stores.get(1).proxy.hang(true);
    for seed in 0..30 {
        let put = cluster
            .put(capture("http://a.example/", noise(seed, 100)))
            .await
            .unwrap();
        let mut ids = put.stores;
        ids.sort_unstable();
        assert_eq!(ids, [2, 3]);
    }
    assert_eq!(cluster.metrics().failed_copies, 1, "one page waited for it");
    // With as many copies as stores its silence is an answer too.
    let all = stores.cluster(3);
    let refused = all.put(capture("http://a.example/", "x")).await;
    assert!(matches!(
        refused,
        Err(ClusterPutError::Unavailable { copies: 3, .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_stops_answering_on_an_open_connection_is_replaced_and_comes_back() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(3);
    let page = |seed| capture("http://a.example/", noise(seed, 100));
    cluster.put(page(0)).await.unwrap();
    let cluster = stores.cluster(2);
    for seed in 0..6 {
        cluster.put(page(seed)).await.unwrap();
    }
    stores.get(1).proxy.hang(true);
    for seed in 100..110 {
        let mut ids = cluster.put(page(seed)).await.unwrap().stores;
        ids.sort_unstable();
        assert_eq!(ids, [2, 3]);
    }
    assert_eq!(cluster.metrics().failed_copies, 1, "one page waited for it");
    stores.get(1).proxy.hang(false);
    let mut seed = 1_000;
    while !cluster.put(page(seed)).await.unwrap().stores.contains(&1) {
        seed += 1;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(stores.get(1).store.scrub().problems, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_killed_while_it_takes_a_page_is_replaced_by_the_next() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    let payload = noise(8, 24 << 20);
    let first = Ring::new([1, 2, 3]).order(&Digest::of(&payload))[0];
    let put = {
        let (cluster, page) = (
            cluster.clone(),
            capture("http://a.example/", payload.clone()),
        );
        tokio::spawn(async move { cluster.put(page).await })
    };
    let proxy = &stores.get(first).proxy;
    until(|| async { proxy.received_bytes() > 1 << 20 }).await;
    proxy.kill();
    let put = put.await.unwrap().unwrap();
    assert_eq!(put.stores.len(), 2);
    assert!(!put.stores.contains(&first), "{first} of {:?}", put.stores);
    let broken = stores.get(first);
    assert_eq!(broken.store.stats().payloads, 0);
    assert_eq!(broken.store.scrub().problems, []);
    assert_eq!(cluster.metrics().failed_copies, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_one_new_digest_at_once_make_one_payload_a_store() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    let payload = noise(9, 300_000);
    let puts: Vec<_> = (0..10)
        .map(|at| {
            let page = capture(&format!("http://h{at}.example/"), payload.clone());
            let cluster = cluster.clone();
            tokio::spawn(async move { cluster.put(page).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for put in puts {
        new += u32::from(put.await.unwrap().outcome == Outcome::Stored);
    }
    assert!((1..=2).contains(&new), "{new}");
    assert_eq!(stores.payloads(), 2);
    assert_eq!(cluster.metrics().sent_payload_bytes, 2 * 300_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_304_goes_to_the_stores_that_hold_its_payload() {
    let stores = Stores::new(3).await;
    let cluster = stores.cluster(2);
    let put = cluster
        .put(capture("http://a.example/", "v1"))
        .await
        .unwrap();
    let again = UnmodifiedCapture {
        url: "http://a.example/".to_owned(),
        captured_at_unix_ms: 1_795_000_000_000,
        headers: Vec::new(),
        digest: put.digest,
    };
    let kept = cluster.put_unmodified(again.clone()).await.unwrap();
    let set = |ids: &[u32]| ids.iter().copied().collect::<BTreeSet<u32>>();
    assert_eq!(set(&kept.stores), set(&put.stores));
    // The one copy left is found, wherever on the ring it is.
    let third = (1..=3).find(|id| !put.stores.contains(id)).unwrap();
    stores.get(put.stores[0]).proxy.kill();
    let kept = cluster.put_unmodified(again.clone()).await.unwrap();
    assert_eq!(kept.stores, [put.stores[1]]);
    // Its last holder gone, and two stores left that answer: the crawl goes on.
    stores.get(put.stores[0]).proxy.revive().await;
    let unknown = UnmodifiedCapture {
        digest: Digest::of(b"never"),
        ..again.clone()
    };
    let refused = cluster.put_unmodified(unknown.clone()).await;
    assert_eq!(refused, Err(ClusterPutError::UnknownDigest));
    // Fewer answer than a page needs.
    stores.get(put.stores[0]).proxy.kill();
    stores.get(third).proxy.kill();
    until(|| async {
        matches!(
            cluster.put_unmodified(unknown.clone()).await,
            Err(ClusterPutError::Unavailable { .. })
        )
    })
    .await;
    assert_eq!(stores.get(third).store.stats().unmodified, 0);
}

/// A directory that is told where a store went when it is asked.
struct Moving {
    now: Mutex<Vec<(u32, String)>>,
    later: Vec<(u32, String)>,
}

#[async_trait::async_trait]
impl StoreDirectory for Moving {
    fn stores(&self) -> Vec<(u32, String)> {
        self.now.lock().clone()
    }

    async fn refresh(&self) {
        *self.now.lock() = self.later.clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_moved_or_was_replaced_is_found_by_a_refresh() {
    let stores = Stores::new(2).await;
    // Under the address of store 2 stood store 7, as far as this directory knows.
    let directory = Moving {
        now: Mutex::new(vec![(1, nobody()), (7, stores.get(2).address())]),
        later: vec![(1, stores.get(1).address()), (2, stores.get(2).address())],
    };
    let cluster = ClusterStore::with_options(Arc::new(directory), 2, patient());
    let put = cluster
        .put(capture("http://a.example/", "x"))
        .await
        .unwrap();
    let mut ids = put.stores;
    ids.sort_unstable();
    assert_eq!(ids, [1, 2], "no copy is booked on store 7");
    assert_eq!(stores.payloads(), 2);
    assert_eq!(cluster.status(2).await.unwrap().store_id, 2);
    assert!(cluster.status(7).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_a_store_carries_everything() {
    let stores = Stores::new(2).await;
    let cluster = stores.cluster(2);
    let puts = (0..50).map(|seed| cluster.put(capture("http://a.example/", noise(seed, 3_000))));
    for put in futures::future::join_all(puts).await {
        assert_eq!(put.unwrap().stores.len(), 2);
    }
    for served in &stores.served {
        assert_eq!(served.proxy.connections(), 1);
        assert_eq!(served.store.stats().payloads, 50);
    }
}
