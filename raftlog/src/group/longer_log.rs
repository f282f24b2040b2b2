//! Whether this replica was refused votes because another voter's log goes further: it cannot win then, and each further try
//! raises the term that the one with the log has to outbid.

use parking_lot::Mutex;

use crate::raft_types::LogId;

/// The furthest end of a log that a refusal told of, of one group.
#[derive(Default)]
pub(crate) struct LongerLog {
    furthest: Mutex<Option<LogId>>,
}

impl LongerLog {
    /// A voter whose log ends there has refused.
    pub(crate) fn refused_by(&self, last: Option<LogId>) {
        let mut furthest = self.furthest.lock();
        if last > *furthest {
            *furthest = last;
        }
    }

    /// Whether one of them goes further than a log that ends there.
    pub(crate) fn goes_further_than(&self, last: Option<LogId>) -> bool {
        *self.furthest.lock() > last
    }
}

#[cfg(test)]
mod tests {
    use super::LongerLog;
    use crate::raft_types::log_id;

    #[test]
    fn only_a_log_that_goes_further_counts() {
        let known = LongerLog::default();
        assert!(!known.goes_further_than(None), "nobody has refused");
        known.refused_by(Some(log_id(2, 5)));
        known.refused_by(Some(log_id(2, 1)));
        known.refused_by(None);
        assert!(known.goes_further_than(Some(log_id(2, 1))));
        assert!(!known.goes_further_than(Some(log_id(2, 5))), "caught up");
        assert!(!known.goes_further_than(Some(log_id(3, 4))), "newer term");
    }
}
