//! Pages in the stores of a cluster.

use page_service::{ClusterPutError, ClusterStore};
use page_store::{Capture, Outcome, UnmodifiedCapture};

use crate::pages::{Pages, StoreError, StoredPage};

/// The stores of a cluster. A page is stored when as many of them as the cluster wants have it.
#[derive(Clone, Debug)]
pub struct ClusterPages(ClusterStore);

impl ClusterPages {
    /// These stores.
    #[must_use]
    pub const fn new(stores: ClusterStore) -> Self {
        Self(stores)
    }
}

#[async_trait::async_trait]
impl Pages for ClusterPages {
    async fn put(&self, capture: Capture) -> Result<StoredPage, StoreError> {
        let put = self.0.put(capture).await.map_err(store_error)?;
        Ok(StoredPage {
            digest: put.digest,
            stores: put.stores,
            duplicate: put.outcome == Outcome::Duplicate,
        })
    }

    async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<(), StoreError> {
        let put = self.0.put_unmodified(capture).await;
        put.map(|_| ()).map_err(store_error)
    }
}

fn store_error(error: ClusterPutError) -> StoreError {
    match error {
        ClusterPutError::Unavailable { .. } => StoreError::Unavailable(error.to_string()),
        ClusterPutError::Refused(_) => StoreError::Refused(error.to_string()),
        ClusterPutError::UnknownDigest => StoreError::UnknownDigest,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use page_service::{FixedStores, service};
    use page_store::{Digest, PageStore, StoreOptions};
    use tokio::net::TcpListener;
    use tonic::transport::server::TcpIncoming;

    use super::*;

    async fn serve(dir: &std::path::Path, store_id: u32) -> (Arc<PageStore>, SocketAddr) {
        let store = Arc::new(PageStore::open(StoreOptions::new(dir)).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tonic::transport::Server::builder()
            .add_service(service(Arc::clone(&store), store_id))
            .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
        tokio::spawn(server);
        (store, address)
    }

    fn capture(url: &str, payload: &'static str) -> Capture {
        Capture {
            url: url.to_owned(),
            captured_at_unix_ms: 1_790_000_000_123,
            protocol: "h2".to_owned(),
            status: 200,
            reason: String::new(),
            headers: Vec::new(),
            peer_addr: None,
            payload: payload.into(),
            truncated: None,
        }
    }

    fn unmodified(payload: &str) -> UnmodifiedCapture {
        UnmodifiedCapture {
            url: "http://a.example/".to_owned(),
            captured_at_unix_ms: 1_795_000_000_000,
            headers: Vec::new(),
            digest: Digest::of(payload.as_bytes()),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pages_are_named_with_their_stores_and_errors_are_told_apart() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (first, first_address) = serve(dirs[0].path(), 1).await;
        let (second, second_address) = serve(dirs[1].path(), 2).await;
        let list = vec![
            (1, first_address.to_string()),
            (2, second_address.to_string()),
        ];
        let pages = ClusterPages::new(ClusterStore::new(Arc::new(FixedStores(list.clone())), 2));
        let mut stored = pages.put(capture("http://a.example/", "x")).await.unwrap();
        stored.stores.sort_unstable();
        let digest = Digest::of(b"x");
        let wanted = StoredPage {
            digest,
            stores: vec![1, 2],
            duplicate: false,
        };
        assert_eq!(stored, wanted);
        let again = pages.put(capture("http://b.example/", "x")).await.unwrap();
        assert!(again.duplicate);
        assert_eq!(pages.put_unmodified(unmodified("x")).await, Ok(()));
        for store in [&first, &second] {
            let stats = store.stats();
            let counts = (stats.payloads, stats.duplicates, stats.unmodified);
            assert_eq!(counts, (1, 1, 1));
        }
        let unknown = pages.put_unmodified(unmodified("y")).await;
        assert_eq!(unknown, Err(StoreError::UnknownDigest));
        let refused = pages.put(capture("http://a.example/ b", "z")).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))));
        let three = ClusterPages::new(ClusterStore::new(Arc::new(FixedStores(list)), 3));
        let unavailable = three.put(capture("http://a.example/", "w")).await;
        assert!(
            matches!(&unavailable, Err(StoreError::Unavailable(reason)) if reason.contains("0 of 3 copies")),
            "{unavailable:?}"
        );
    }
}
