//! Why a call of one store failed.

use page_store::{GetError, PutError};

use crate::limits::{FAILED_RETRY_MS, FULL_RETRY_MS};

/// A failed call. All but [`StoreCallError::NoAnswer`] are the store's own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreCallError {
    /// Nobody answered in time, or it was no store.
    #[error("no answer: {reason}")]
    NoAnswer {
        /// What happened instead.
        reason: String,
    },
    /// No space is left there; another store may have some.
    #[error("full: {reason}")]
    Full {
        /// What could not be written.
        reason: String,
        /// When to try again, ms.
        retry_after_ms: u64,
    },
    /// It cannot do this now.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
        /// When to try again, ms; 0 = any time.
        retry_after_ms: u64,
    },
    /// A limit of the request or of the store.
    #[error("over the limit {limit}: {value} of at most {max}")]
    OverLimit {
        /// Name of the limit.
        limit: String,
        /// What was asked.
        value: u64,
        /// What is allowed.
        max: u64,
        /// When to try again, ms; 0 = not as it is.
        retry_after_ms: u64,
    },
    /// The request can never be answered.
    #[error("invalid: {reason}")]
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// The bytes that arrived are not those that were announced; nothing was stored.
    #[error("not as announced: {reason}")]
    NotAsAnnounced {
        /// What arrived.
        reason: String,
    },
    /// The payload is not in this store.
    #[error("the payload is not in this store")]
    UnknownDigest,
    /// The payload was stored, and what lies there now is something else.
    #[error("damaged: {reason}")]
    Damaged {
        /// Where and how.
        reason: String,
    },
    /// Another store is at this address.
    #[error("store {store_id} is at this address")]
    WrongStore {
        /// The one that is there.
        store_id: u32,
    },
}

impl StoreCallError {
    /// Whether no store will ever take the same request.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Invalid { .. }
                | Self::OverLimit {
                    retry_after_ms: 0,
                    ..
                }
        )
    }

    /// When the store asks to be tried again, ms, if it says so.
    #[must_use]
    pub const fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Full { retry_after_ms, .. }
            | Self::Unavailable { retry_after_ms, .. }
            | Self::OverLimit { retry_after_ms, .. } => Some(*retry_after_ms),
            _ => None,
        }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }

    pub(crate) fn no_answer(reason: impl Into<String>) -> Self {
        Self::NoAnswer {
            reason: reason.into(),
        }
    }
}

impl From<PutError> for StoreCallError {
    fn from(error: PutError) -> Self {
        let reason = error.to_string();
        match error {
            PutError::Invalid(_) => Self::Invalid { reason },
            PutError::TooLarge {
                size_bytes,
                max_bytes,
            } => Self::OverLimit {
                limit: "payload_size_bytes".to_owned(),
                value: size_bytes,
                max: max_bytes,
                retry_after_ms: 0,
            },
            PutError::NotAsAnnounced { .. } | PutError::Deflate(_) => {
                Self::NotAsAnnounced { reason }
            }
            PutError::UnknownDigest { .. } => Self::UnknownDigest,
            PutError::Full { .. } => Self::Full {
                reason,
                retry_after_ms: FULL_RETRY_MS,
            },
            PutError::Io { .. } | PutError::Lookup(_) | PutError::Closed => Self::Unavailable {
                reason,
                retry_after_ms: FAILED_RETRY_MS,
            },
        }
    }
}

impl From<GetError> for StoreCallError {
    fn from(error: GetError) -> Self {
        let reason = error.to_string();
        match error {
            GetError::Damaged { .. } => Self::Damaged { reason },
            GetError::Index(_) | GetError::Io { .. } => Self::Unavailable {
                reason,
                retry_after_ms: FAILED_RETRY_MS,
            },
        }
    }
}
