//! When to visit a URL again: the change-rate estimator of Cho and Garcia-Molina with its bias correction
//! ("Estimating Frequency of Change", ACM TOIT 3(3), 2003): with X changes in n visits at interval I, the rate is
//! -ln((n - X + 0.5) / (n + 0.5)) / I. Visits here are not quite regular; I is their mean.

use crate::fixed_ln::ln_ratio;

/// The interval before anything was observed, ms, within bounds.
const FIRST_INTERVAL_MS: u64 = 86_400_000;
/// Observations kept: older ones fade by halving, so that a page that changed its habit is believed in time.
const OBSERVATIONS: u32 = 64;

/// What was observed of a URL's changes.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Watch {
    #[prost(uint32, tag = "1")]
    pub visits: u32,
    #[prost(uint32, tag = "2")]
    pub changes: u32,
    #[prost(uint64, tag = "3")]
    pub watched_ms: u64,
}

impl Watch {
    /// A visit `elapsed_ms` after the last one found a change or none.
    pub fn observe(&mut self, elapsed_ms: u64, changed: bool) {
        if self.visits >= OBSERVATIONS {
            self.visits /= 2;
            self.changes /= 2;
            self.watched_ms /= 2;
        }
        self.visits += 1;
        self.changes += u32::from(changed);
        self.watched_ms = self.watched_ms.saturating_add(elapsed_ms.max(1));
    }

    /// The interval to the next visit.
    pub fn interval_ms(&self, min_ms: u64, max_ms: u64) -> u64 {
        let max_ms = max_ms.max(min_ms);
        if self.visits == 0 {
            return FIRST_INTERVAL_MS.clamp(min_ms, max_ms);
        }
        let visits = u64::from(self.visits);
        let same = visits - u64::from(self.changes.min(self.visits));
        let rate = ln_ratio(2 * visits + 1, 2 * same + 1);
        let mean_ms = u128::from(self.watched_ms / visits);
        let estimate_ms = (mean_ms << 32)
            .checked_div(u128::from(rate))
            .map_or(max_ms, |ms| ms.min(u128::from(max_ms)) as u64);
        // Nothing is known beyond what was watched: twice that is as far as trust goes.
        estimate_ms
            .min(self.watched_ms.saturating_mul(2))
            .clamp(min_ms, max_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    fn after(visits: &[(u64, bool)]) -> u64 {
        let mut watch = Watch::default();
        for (elapsed_ms, changed) in visits {
            watch.observe(*elapsed_ms, *changed);
        }
        watch.interval_ms(3_600_000, 90 * DAY_MS)
    }

    #[test]
    fn first_visit_has_no_evidence() {
        assert_eq!(after(&[]), DAY_MS);
        assert_eq!(
            Watch::default().interval_ms(2 * DAY_MS, 3 * DAY_MS),
            2 * DAY_MS
        );
    }

    #[test]
    fn agrees_with_the_published_estimator() {
        // n = 10, X = 3, I = 1 day: 1 / -ln(7.5 / 10.5) = 2.972 days.
        let visits: Vec<_> = (0..10).map(|visit| (DAY_MS, visit < 3)).collect();
        let days = after(&visits) * 1_000 / DAY_MS;
        assert_eq!(days, 2_972);
    }

    #[test]
    fn change_shortens_and_sameness_lengthens_in_bounds() {
        assert!(after(&[(DAY_MS, true)]) < DAY_MS);
        assert_eq!(after(&[(DAY_MS, false)]), 2 * DAY_MS);
        assert_eq!(after(&[(60 * DAY_MS, false)]), 90 * DAY_MS);
        assert_eq!(after(&vec![(1_000, true); 100]), 3_600_000);
        // The wall clock stepped back: no time passed, nothing breaks.
        assert_eq!(after(&[(0, true)]), 3_600_000);
        assert!(after(&vec![(u64::MAX, false); 200]) <= 90 * DAY_MS);
    }
}
