//! Where pages go: a trait over stores, and the store in this process.

use std::sync::Arc;

use page_store::{Capture, Digest, Outcome, PageStore, PutError, UnmodifiedCapture};

/// A capture that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPage {
    /// The payload's name.
    pub digest: Digest,
    /// Ids of the stores that hold it.
    pub stores: Vec<u32>,
    /// Its bytes were there already.
    pub duplicate: bool,
}

/// Why a capture is not durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No store can write now: leasing pauses, and the page comes again.
    #[error("the page store cannot write: {0}")]
    Unavailable(String),
    /// This capture can never be stored.
    #[error("the capture cannot be stored: {0}")]
    Refused(String),
    /// A 304 names a payload that this store does not have.
    #[error("the payload is not in this store")]
    UnknownDigest,
}

/// A store of pages. An answer means durable.
#[async_trait::async_trait]
pub trait Pages: Send + Sync + 'static {
    /// Stores a capture.
    async fn put(&self, capture: Capture) -> Result<StoredPage, StoreError>;
    /// Records an answer 304.
    async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<(), StoreError>;
    /// Whether it could write now, if that can be told without writing.
    async fn can_write(&self) -> Option<bool> {
        None
    }
}

/// The store in this process.
pub struct LocalPages {
    store: Arc<PageStore>,
    id: u32,
}

impl LocalPages {
    /// A store, and its id in URL records.
    #[must_use]
    pub fn new(store: Arc<PageStore>, id: u32) -> Self {
        Self { store, id }
    }
}

#[async_trait::async_trait]
impl Pages for LocalPages {
    async fn put(&self, capture: Capture) -> Result<StoredPage, StoreError> {
        let put = self.store.put(capture).await.map_err(store_error)?;
        Ok(StoredPage {
            digest: put.digest,
            stores: vec![self.id],
            duplicate: put.outcome == Outcome::Duplicate,
        })
    }

    async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<(), StoreError> {
        self.store
            .put_unmodified(capture)
            .await
            .map(|_| ())
            .map_err(store_error)
    }
}

fn store_error(error: PutError) -> StoreError {
    match error {
        PutError::Invalid(_) | PutError::TooLarge { .. } => StoreError::Refused(error.to_string()),
        PutError::UnknownDigest { .. } => StoreError::UnknownDigest,
        _ => StoreError::Unavailable(error.to_string()),
    }
}
