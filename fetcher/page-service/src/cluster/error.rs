//! Why a cluster of stores could not do something.

use std::fmt::Write as _;

use page_store::Digest;

use crate::StoreCallError;

/// One copy that could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("store {store_id}: {error}")]
pub struct FailedCopy {
    /// The store.
    pub store_id: u32,
    /// What it said.
    pub error: StoreCallError,
}

/// Why a page is not durable in as many stores as it must be. It may be in some of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterPutError {
    /// Fewer stores than copies took it: try again later.
    #[error("{taken} of {copies} copies are stored{}", list(failed))]
    Unavailable {
        /// Copies that are durable.
        taken: usize,
        /// Copies that are needed.
        copies: usize,
        /// What the others said; those that are left alone for a while are among them.
        failed: Vec<FailedCopy>,
        /// When it may go better, ms.
        retry_after_ms: u64,
    },
    /// No store will ever take it.
    #[error("refused by {0}")]
    Refused(FailedCopy),
    /// A 304 names a payload that no store which answers has.
    #[error("no store has the payload")]
    UnknownDigest,
}

/// Why a page could not be read, though it is or may be somewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no copy of {digest} can be read{}", list(failed))]
pub struct ClusterGetError {
    /// What was asked for.
    pub digest: Digest,
    /// What each store said.
    pub failed: Vec<FailedCopy>,
}

fn list(failed: &[FailedCopy]) -> String {
    let mut text = String::new();
    for copy in failed {
        // Writing to a string does not fail.
        let _ = write!(text, "; {copy}");
    }
    text
}
