//! A page to as many stores as it must have.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use page_store::{Capture, Digest, Outcome, Put};
use tokio::time::Instant;

use super::error::{ClusterPutError, FailedCopy};
use super::member::Member;
use super::members::Members;
use super::{ClusterStore, Inner};
use crate::limits::BACK_OFF_MS;
use crate::{Parcel, StoreCallError};

/// A page that is durable in as many stores as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPut {
    /// The payload's name.
    pub digest: Digest,
    /// The stores that hold it, in the order in which they answered.
    pub stores: Vec<u32>,
    /// `Duplicate` when all of them had its bytes before.
    pub outcome: Outcome,
}

/// What became of one page so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) stores: Vec<u32>,
    pub(super) is_new: bool,
    pub(super) failed: Vec<FailedCopy>,
}

impl ClusterStore {
    /// Stores a capture in the first `copies` stores of its digest's ring order that answer, in all of them at once; returns when
    /// it is durable in each. If the future is dropped some may have it; putting it again is safe and sends no bytes twice.
    ///
    /// # Errors
    ///
    /// Fewer stores than that took it, or one refused it for good.
    pub async fn put(&self, capture: Capture) -> Result<ClusterPut, ClusterPutError> {
        self.0.counters.put();
        let parcel = Parcel::new(capture).await;
        let digest = parcel.digest();
        let mut progress = Progress::default();
        for is_last in [false, true] {
            let members = self.members();
            self.put_among(&members, &parcel, &mut progress).await?;
            if progress.stores.len() == self.0.copies {
                return Ok(progress.done(digest));
            }
            // Stores may have moved, or others may have come.
            if is_last || !self.refresh().await {
                break;
            }
        }
        Err(self.unavailable(progress))
    }

    /// One walk along the ring; what is missing afterwards is missing.
    async fn put_among(
        &self,
        members: &Members,
        parcel: &Parcel,
        progress: &mut Progress,
    ) -> Result<(), ClusterPutError> {
        let copies = self.0.copies;
        let mut ready = self.ready(members, &parcel.digest(), copies).await;
        ready.retain(|member| !progress.stores.contains(&member.store_id()));
        // Not even begun when it cannot be done: bytes in too few stores help nobody.
        if progress.stores.len() + ready.len() < copies {
            progress.failed = resting(members);
            return Ok(());
        }
        let mut next = ready.into_iter();
        let mut open = FuturesUnordered::new();
        loop {
            while open.len() + progress.stores.len() < copies
                && let Some(member) = next.next()
            {
                open.push(async move {
                    let outcome = member.client().put(parcel).await;
                    (member.store_id(), member.learn_put(outcome))
                });
            }
            let Some((store_id, outcome)) = open.next().await else {
                return Ok(());
            };
            progress.take(&self.0, store_id, outcome)?;
        }
    }

    pub(super) fn unavailable(&self, progress: Progress) -> ClusterPutError {
        self.0.counters.unavailable();
        let members = self.members();
        let now = Instant::now();
        let waits = members
            .all()
            .filter_map(|member| member.health().wait_ms(now));
        ClusterPutError::Unavailable {
            taken: progress.stores.len(),
            copies: self.0.copies,
            failed: progress.failed,
            retry_after_ms: waits.min().unwrap_or(BACK_OFF_MS.0),
        }
    }
}

impl Progress {
    /// Takes in what one store answered; an error when no store would take it.
    pub(super) fn take(
        &mut self,
        inner: &Inner,
        store_id: u32,
        outcome: Result<Put, StoreCallError>,
    ) -> Result<(), ClusterPutError> {
        match outcome {
            Ok(put) => {
                inner.counters.copy();
                self.is_new |= put.outcome == Outcome::Stored;
                self.stores.push(store_id);
                Ok(())
            }
            Err(error) if error.is_final() => {
                Err(ClusterPutError::Refused(FailedCopy { store_id, error }))
            }
            Err(error) => {
                inner.counters.failed_copy();
                self.failed.push(FailedCopy { store_id, error });
                Ok(())
            }
        }
    }

    pub(super) fn done(self, digest: Digest) -> ClusterPut {
        ClusterPut {
            digest,
            stores: self.stores,
            outcome: if self.is_new {
                Outcome::Stored
            } else {
                Outcome::Duplicate
            },
        }
    }
}

/// Why stores get no pages now.
pub(super) fn resting(members: &Members) -> Vec<FailedCopy> {
    let refusal = |member: &Arc<Member>| {
        let error = member.health().refusal(Instant::now())?;
        Some(FailedCopy {
            store_id: member.store_id(),
            error,
        })
    };
    members.all().filter_map(refusal).collect()
}
