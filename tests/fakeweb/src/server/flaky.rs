//! How often a URL that answers 503 first was asked for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::limits;

/// Counts arrivals of such URLs, up to [`limits::MAX_COUNTED_URLS`] of them.
#[derive(Debug, Default)]
pub(crate) struct FlakyCounts(Mutex<HashMap<(u32, u32), u32>>);

impl FlakyCounts {
    /// Whether this arrival at (host, unit) is among the first `times`. Counts it.
    pub(crate) fn refuses(&self, host: u32, unit: u32, times: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= limits::MAX_COUNTED_URLS && !counts.contains_key(&(host, unit)) {
            return false;
        }
        let count = counts.entry((host, unit)).or_default();
        *count = count.saturating_add(1);
        *count <= times
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_refused_and_the_map_stays_bounded() {
        let counts = FlakyCounts::default();
        let seen: Vec<bool> = (0..4).map(|_| counts.refuses(1, 2, 2)).collect();
        assert_eq!(seen, [true, true, false, false]);
        for unit in 0..limits::MAX_COUNTED_URLS as u32 + 10 {
            counts.refuses(9, unit, 1);
        }
        assert_eq!(counts.0.lock().unwrap().len(), limits::MAX_COUNTED_URLS);
        assert!(!counts.refuses(77, 0, 1));
    }
}
