//! What the driver does unasked, and how patient it is.

use shard_map::policy::{BalanceRules, SplitRules};

use crate::limits::{
    BALANCE_PATIENCE_MS, MOVE_PATIENCE_MS, MOVES_AT_ONCE, SPLITS_AT_ONCE, STUCK_AFTER_MS,
};

/// Rules of the driver. The defaults give a new node its share, keep leaders even, and neither split a shard nor give up a
/// node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeRules {
    /// A node that is silent for so long is replaced, ms; 0: never.
    pub replace_after_ms: u64,
    /// When shards are split by themselves.
    pub split: SplitRules,
    /// When leaders are handed over for the sake of evenness.
    pub balance: BalanceRules,
    /// They are uneven for so long before, ms.
    pub balance_patience_ms: u64,
    /// A move to a node that is silent for so long is taken back, ms.
    pub move_patience_ms: u64,
    /// A job that stays at one step for so long is stuck, ms.
    pub stuck_after_ms: u64,
    /// Moves under way at the same moment that were begun unasked or by a drain.
    pub moves_at_once: usize,
}

impl Default for ShapeRules {
    fn default() -> Self {
        Self {
            replace_after_ms: 0,
            split: SplitRules {
                enabled: false,
                size_bytes: 0,
                load: 0,
                at_once: SPLITS_AT_ONCE,
            },
            balance: BalanceRules::default(),
            balance_patience_ms: BALANCE_PATIENCE_MS,
            move_patience_ms: MOVE_PATIENCE_MS,
            stuck_after_ms: STUCK_AFTER_MS,
            moves_at_once: MOVES_AT_ONCE,
        }
    }
}

impl ShapeRules {
    /// With a limit on a shard's rows, bytes, and on the entries that its leader applies in a second; 0 for either: none.
    /// Without both no shard is split by itself.
    #[must_use]
    pub const fn splitting_above(mut self, size_bytes: u64, entries_per_s: u64) -> Self {
        self.split.enabled = size_bytes > 0 || entries_per_s > 0;
        self.split.size_bytes = size_bytes;
        // Loads are measured in thousandths.
        self.split.load = entries_per_s.saturating_mul(1_000);
        self
    }
}
