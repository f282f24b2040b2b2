//! Times of a cluster of stores.

use crate::ClientOptions;
use crate::limits;

/// How patient a cluster is with its stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Of each call.
    pub client: ClientOptions,
    /// How long a store that does not answer is left alone: at first and at most, ms.
    pub back_off_ms: (u64, u64),
    /// How long a store may take to say that it is back, ms.
    pub probe_timeout_ms: u64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            client: ClientOptions::default(),
            back_off_ms: limits::BACK_OFF_MS,
            probe_timeout_ms: limits::PROBE_TIMEOUT_MS,
        }
    }
}
