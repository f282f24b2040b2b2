//! A page store in memory, which can be full or break.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use page_store::{Capture, Digest, UnmodifiedCapture};
use parking_lot::Mutex;

use crate::pages::{Pages, StoreError, StoredPage};

/// See the head of this file.
#[derive(Default)]
pub(crate) struct MemoryPages {
    pub(crate) captures: Mutex<Vec<Capture>>,
    pub(crate) unmodified: Mutex<Vec<UnmodifiedCapture>>,
    digests: Mutex<HashSet<[u8; 32]>>,
    pub(crate) full: AtomicBool,
    pub(crate) panics: AtomicBool,
}

#[async_trait::async_trait]
impl Pages for MemoryPages {
    async fn put(&self, capture: Capture) -> Result<StoredPage, StoreError> {
        assert!(!self.panics.load(Ordering::SeqCst), "scripted panic");
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("no space left".to_owned()));
        }
        let digest = Digest::of(&capture.payload);
        let duplicate = !self.digests.lock().insert(digest.0);
        self.captures.lock().push(capture);
        Ok(StoredPage {
            digest,
            stores: vec![3],
            duplicate,
        })
    }

    async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<(), StoreError> {
        self.unmodified.lock().push(capture);
        Ok(())
    }
}
