//! An answer 304 to the stores that hold its payload.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use page_store::UnmodifiedCapture;

use super::ClusterStore;
use super::error::ClusterPutError;
use super::put::{ClusterPut, Progress};
use crate::StoreCallError;

impl ClusterStore {
    /// Records an answer 304 in up to `copies` of the stores that have its payload; returns when it is durable there. The stores
    /// are asked in ring order, `copies` at a time.
    ///
    /// # Errors
    ///
    /// `UnknownDigest` when as many stores answer as pages need and none has the payload: one that has it may be gone for
    /// good, and waiting for it would hold up the crawl. `Unavailable` when fewer answer.
    pub async fn put_unmodified(
        &self,
        capture: UnmodifiedCapture,
    ) -> Result<ClusterPut, ClusterPutError> {
        let (members, copies) = (self.members(), self.0.copies);
        let digest = capture.digest;
        let mut next = self.ready(&members, &digest, copies).await.into_iter();
        let mut progress = Progress::default();
        let mut unknown_count = 0;
        let mut open = FuturesUnordered::new();
        let capture = &capture;
        loop {
            while open.len() + progress.stores.len() < copies
                && let Some(member) = next.next()
            {
                open.push(async move {
                    let outcome = member.client().put_unmodified(capture).await;
                    (member.store_id(), member.learn_put(outcome))
                });
            }
            let Some((store_id, outcome)) = open.next().await else {
                break;
            };
            if outcome == Err(StoreCallError::UnknownDigest) {
                unknown_count += 1;
                continue;
            }
            progress.take(&self.0, store_id, outcome)?;
        }
        if !progress.stores.is_empty() {
            Ok(progress.done(digest))
        } else if unknown_count >= copies {
            Err(ClusterPutError::UnknownDigest)
        } else {
            progress.failed.extend(super::put::resting(&members));
            Err(self.unavailable(progress))
        }
    }
}
