//! Bounds of a service.

use crate::limits;

/// What one service bears. The store has bounds of its own, among them the payload bytes in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Puts open at most; further ones are refused and may try again.
    pub open_puts_max_count: usize,
    /// Payloads read and sent at once; further ones wait.
    pub open_gets_max_count: usize,
    /// How long the next part of a stream may take, ms.
    pub part_timeout_ms: u64,
    /// How long a put waits for another one of the same digest before its bytes are taken too, ms.
    pub patience_ms: u64,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            open_puts_max_count: limits::OPEN_PUTS,
            open_gets_max_count: limits::OPEN_GETS,
            part_timeout_ms: limits::PART_TIMEOUT_MS,
            patience_ms: limits::PATIENCE_MS,
        }
    }
}
