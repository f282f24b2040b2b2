//! How long a remote store may take.

use crate::limits;

/// Times of one remote store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// A connection may take this long to open, ms.
    pub connect_timeout_ms: u64,
    /// An answer that waits for no bytes may take this long, ms.
    pub answer_timeout_ms: u64,
    /// The next part of a payload may take this long, ms.
    pub part_timeout_ms: u64,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout_ms: limits::CONNECT_TIMEOUT_MS,
            answer_timeout_ms: limits::ANSWER_TIMEOUT_MS,
            part_timeout_ms: limits::PART_TIMEOUT_MS,
        }
    }
}
