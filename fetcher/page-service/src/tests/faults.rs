//! Bytes that change, disks that are full.

use page_store::{Outcome, StoreOptions};

use super::support::{Served, Stores, capture, cluster_of, noise};
use crate::{ClusterPutError, Parcel, ServiceOptions, StoreCallError};

/// A payload with a text that is found on its way.
const MARKED: &[u8] = b"before MARK-MARK-MARK after";

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_change_on_their_way_are_not_stored() {
    let stores = Stores::new(1).await;
    let served = stores.get(1);
    let client = served.client();
    let page = Parcel::new(capture("http://a.example/", MARKED)).await;
    served.proxy.change(b"MARK-MARK");
    let refused = client.put(&page).await;
    assert!(
        matches!(refused, Err(StoreCallError::NotAsAnnounced { .. })),
        "{refused:?}"
    );
    assert_eq!(served.store.stats().records, 0);
    let put = client.put(&page).await.unwrap();
    assert_eq!(put.outcome, Outcome::Stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_changed_on_its_way_goes_to_the_next_store() {
    let stores = Stores::new(2).await;
    let cluster = stores.cluster(1);
    for served in &stores.served {
        served.proxy.change(b"MARK-MARK");
    }
    // Both refuse; neither is blamed for longer than this page.
    let refused = cluster.put(capture("http://a.example/", MARKED)).await;
    assert!(
        matches!(&refused, Err(ClusterPutError::Unavailable { taken: 0, copies: 1, failed, .. }) if failed.len() == 2),
        "{refused:?}"
    );
    let put = cluster.put(capture("http://a.example/", MARKED)).await;
    assert_eq!(put.unwrap().outcome, Outcome::Stored);
    assert_eq!(stores.payloads(), 1);
}

/// A store that must leave more free than there is.
async fn full(dir: &std::path::Path, store_id: u32) -> Served {
    let mut options = StoreOptions::new(dir);
    options.min_free_bytes = u64::MAX;
    Served::with(options, store_id, ServiceOptions::default()).await
}

// case J4: a full disk is said, with when to try again; the page goes elsewhere, or comes again.

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_says_so_and_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let (full, rest) = (full(dir.path(), 9).await, Stores::new(1).await);
    let said = full
        .client()
        .put(&Parcel::new(capture("http://a.example/", "x")).await)
        .await;
    assert!(
        matches!(&said, Err(StoreCallError::Full { reason, retry_after_ms: 1.. }) if reason.contains("no space left")),
        "{said:?}"
    );
    let list = vec![(9, full.address()), (1, rest.get(1).address())];
    let one_copy = cluster_of(list.clone(), 1);
    for seed in 0..20 {
        let put = one_copy
            .put(capture("http://a.example/", noise(seed, 100)))
            .await;
        assert_eq!(put.unwrap().stores, [1]);
    }
    assert_eq!(one_copy.metrics().failed_copies, 1, "it was asked once");
    let two_copies = cluster_of(list, 2);
    let refused = two_copies
        .put(capture("http://a.example/", noise(99, 100)))
        .await;
    assert!(
        matches!(&refused, Err(ClusterPutError::Unavailable { taken: 1, copies: 2, retry_after_ms: 1.., failed }) if matches!(failed[0].error, StoreCallError::Full { .. })),
        "{refused:?}"
    );
    let state = two_copies.stores();
    assert!(state.iter().any(|store| {
        store.store_id == 9
            && store
                .reason
                .as_ref()
                .is_some_and(|reason| reason.contains("full"))
    }));
    assert_eq!(full.store.stats().records, 0);
}
