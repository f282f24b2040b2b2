//! Reading: the first copy that is whole, and what was wrong with the others.

use std::sync::Arc;

use page_store::{Digest, Page};
use tokio::time::Instant;

use super::ClusterStore;
use super::error::{ClusterGetError, FailedCopy};
use super::member::Member;
use crate::StoreCallError;

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The page, its payload verified here.
    pub page: Page,
    /// The store that it came from.
    pub store_id: u32,
    /// Stores that were asked before and should have had it: damaged, lost or not answering.
    pub failed: Vec<FailedCopy>,
}

impl ClusterStore {
    /// Reads a payload, wherever it is: all stores are asked who has it. Nothing when all answer and none does.
    ///
    /// # Errors
    ///
    /// No copy could be read, and some store has one or did not answer.
    pub async fn get(&self, digest: &Digest) -> Result<Option<Fetched>, ClusterGetError> {
        let members = self.members();
        let asked = members.order(digest).into_iter().map(|member| async {
            let known = match reach(&member).await {
                Ok(()) => member.learn(member.client().has(&[*digest]).await),
                Err(error) => Err(error),
            };
            (member, known.map(|known| known == [true]))
        });
        let (mut holders, mut silent) = (Vec::new(), Vec::new());
        for (member, known) in futures::future::join_all(asked).await {
            match known {
                Ok(true) => holders.push(member),
                Ok(false) => {}
                Err(error) => silent.push(FailedCopy {
                    store_id: member.store_id(),
                    error,
                }),
            }
        }
        let found = self.first_whole(&holders, digest).await?;
        if found.is_none() && !silent.is_empty() {
            return Err(ClusterGetError {
                digest: *digest,
                failed: silent,
            });
        }
        Ok(found)
    }

    /// Reads a payload from the stores that a URL's record names. Nothing when all of them answer and none has it.
    ///
    /// # Errors
    ///
    /// No copy could be read, and not because all of these stores do not know it.
    pub async fn get_from(
        &self,
        store_ids: &[u32],
        digest: &Digest,
    ) -> Result<Option<Fetched>, ClusterGetError> {
        let (mut named, mut missing) = (Vec::new(), Vec::new());
        for store_id in store_ids {
            match self.member(*store_id).await {
                Ok(member) => named.push(member),
                Err(error) => missing.push(FailedCopy {
                    store_id: *store_id,
                    error,
                }),
            }
        }
        // Those that answer first; the others only when it must be.
        named.sort_by_key(|member| !member.health().answers());
        let mut outcome = self.first_whole(&named, digest).await;
        match &mut outcome {
            Ok(Some(fetched)) => fetched.failed.append(&mut missing),
            Err(error) => error.failed.append(&mut missing),
            Ok(None) if !missing.is_empty() => {
                return Err(ClusterGetError {
                    digest: *digest,
                    failed: missing,
                });
            }
            Ok(None) => {}
        }
        outcome
    }

    /// The first of these copies that is whole.
    async fn first_whole(
        &self,
        members: &[Arc<Member>],
        digest: &Digest,
    ) -> Result<Option<Fetched>, ClusterGetError> {
        let mut failed: Vec<FailedCopy> = Vec::new();
        for member in members {
            let outcome = match reach(member).await {
                Ok(()) => member.learn(member.client().get(digest).await),
                Err(error) => Err(error),
            };
            let store_id = member.store_id();
            match outcome {
                Ok(page) => {
                    self.report(digest, &failed);
                    return Ok(Some(Fetched {
                        page,
                        store_id,
                        failed,
                    }));
                }
                Err(error) => failed.push(FailedCopy { store_id, error }),
            }
        }
        self.report(digest, &failed);
        let is_unknown = |copy: &FailedCopy| copy.error == StoreCallError::UnknownDigest;
        if failed.iter().all(is_unknown) {
            return Ok(None);
        }
        Err(ClusterGetError {
            digest: *digest,
            failed,
        })
    }

    /// Damage is for an operator to see, even where another copy helped.
    fn report(&self, digest: &Digest, failed: &[FailedCopy]) {
        self.0.counters.failed_reads(failed.len());
        for FailedCopy { store_id, error } in failed {
            if matches!(error, StoreCallError::Damaged { .. }) {
                tracing::error!(store_id, %digest, %error, "a copy of a page is damaged");
            }
        }
    }
}

/// A store that is away is asked whether it is back when its rest is over, and not called before.
async fn reach(member: &Member) -> Result<(), StoreCallError> {
    if member.health().is_rested(Instant::now()) {
        member.probe().await;
    }
    match member.health().refusal(Instant::now()) {
        Some(error) if !member.health().answers() => Err(error),
        _ => Ok(()),
    }
}
