//! Whether a store gets pages now: what it said last, and for how long that counts.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::StoreCallError;

/// A store's health. It begins well.
#[derive(Debug)]
pub(crate) struct Health {
    back_off_ms: (u64, u64),
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Well,
    /// It answers, and can write nothing until then.
    Unable {
        until: Instant,
        error: StoreCallError,
    },
    /// It does not answer. It is left alone until then, and then asked before it gets pages again.
    Away {
        until: Instant,
        pause_ms: u64,
        error: StoreCallError,
    },
}

impl Health {
    pub(crate) fn new(back_off_ms: (u64, u64)) -> Self {
        Self {
            back_off_ms,
            state: Mutex::default(),
        }
    }

    /// It may get pages.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        self.refusal(now).is_none()
    }

    /// It did not answer, and may be asked again.
    pub(crate) fn is_rested(&self, now: Instant) -> bool {
        matches!(&*self.state.lock(), State::Away { until, .. } if *until <= now)
    }

    /// It may be asked to read: it answers, as far as is known.
    pub(crate) fn answers(&self) -> bool {
        !matches!(&*self.state.lock(), State::Away { .. })
    }

    /// Why it gets no pages.
    pub(crate) fn refusal(&self, now: Instant) -> Option<StoreCallError> {
        match &*self.state.lock() {
            State::Unable { until, error } if *until > now => Some(error.clone()),
            State::Away { error, .. } => Some(error.clone()),
            State::Well | State::Unable { .. } => None,
        }
    }

    /// When that may change, ms from now; nothing when it is ready.
    pub(crate) fn wait_ms(&self, now: Instant) -> Option<u64> {
        let until = match &*self.state.lock() {
            State::Well => return None,
            State::Unable { until, .. } | State::Away { until, .. } => *until,
        };
        let left = until.saturating_duration_since(now);
        u64::try_from(left.as_millis()).ok()
    }

    /// It wrote. Whether that is news.
    pub(crate) fn wrote(&self) -> bool {
        let before = std::mem::take(&mut *self.state.lock());
        matches!(before, State::Away { .. })
    }

    /// It answered a call that tells nothing about writing. Whether that is news.
    pub(crate) fn answered(&self) -> bool {
        let mut state = self.state.lock();
        let is_news = matches!(&*state, State::Away { .. });
        if is_news {
            *state = State::Well;
        }
        is_news
    }

    /// What it said instead of writing. Whether that is news.
    pub(crate) fn failed(&self, error: &StoreCallError, now: Instant) -> bool {
        match error {
            StoreCallError::NoAnswer { .. } | StoreCallError::WrongStore { .. } => {
                self.went_away(error, now)
            }
            _ => match error.retry_after_ms() {
                Some(pause_ms @ 1..) => self.is_unable(error, pause_ms, now),
                _ => false,
            },
        }
    }

    fn went_away(&self, error: &StoreCallError, now: Instant) -> bool {
        let mut state = self.state.lock();
        let (is_news, pause_ms) = match &*state {
            // Calls that were open when it went are no news.
            State::Away { until, .. } if *until > now => return false,
            State::Away { pause_ms, .. } => {
                (false, pause_ms.saturating_mul(2).min(self.back_off_ms.1))
            }
            _ => (true, self.back_off_ms.0),
        };
        *state = State::Away {
            until: now + Duration::from_millis(pause_ms),
            pause_ms,
            error: error.clone(),
        };
        is_news
    }

    fn is_unable(&self, error: &StoreCallError, pause_ms: u64, now: Instant) -> bool {
        let mut state = self.state.lock();
        let is_news = matches!(&*state, State::Well | State::Away { .. });
        *state = State::Unable {
            until: now + Duration::from_millis(pause_ms),
            error: error.clone(),
        };
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone() -> StoreCallError {
        StoreCallError::no_answer("refused")
    }

    #[test]
    fn who_does_not_answer_rests_longer_each_time_and_is_then_asked() {
        let health = Health::new((250, 1_000));
        let mut now = Instant::now();
        assert!(health.is_ready(now) && !health.is_rested(now));
        assert!(health.failed(&gone(), now));
        for pause_ms in [250, 500, 1_000, 1_000] {
            assert_eq!(health.wait_ms(now), Some(pause_ms));
            assert!(!health.failed(&gone(), now), "open calls lengthen no rest");
            now += Duration::from_millis(pause_ms - 1);
            assert!(!health.is_rested(now) && !health.is_ready(now) && !health.answers());
            now += Duration::from_millis(1);
            assert!(
                health.is_rested(now) && !health.is_ready(now),
                "asked, not used"
            );
            assert!(!health.failed(&gone(), now), "still away: no news");
        }
        assert!(health.answered());
        assert!(health.is_ready(now) && !health.answered());
        assert!(health.failed(&gone(), now));
        assert_eq!(health.wait_ms(now), Some(250), "it begins anew");
    }

    #[test]
    fn who_is_full_is_read_from_and_tried_again_when_it_said() {
        let health = Health::new((250, 1_000));
        let now = Instant::now();
        let full = StoreCallError::Full {
            reason: "no space".to_owned(),
            retry_after_ms: 5_000,
        };
        assert!(health.failed(&full, now));
        assert!(!health.failed(&full, now));
        assert_eq!(health.refusal(now), Some(full));
        assert!(health.answers() && !health.is_ready(now) && !health.is_rested(now));
        assert!(!health.answered(), "an answer makes no space");
        assert!(!health.is_ready(now));
        let later = now + Duration::from_millis(5_000);
        assert!(health.is_ready(later));
        assert!(!health.wrote());
        assert_eq!(health.wait_ms(later), None);
    }

    #[test]
    fn a_refused_capture_says_nothing_about_the_store() {
        let health = Health::new((250, 1_000));
        let now = Instant::now();
        for error in [
            StoreCallError::invalid("x"),
            StoreCallError::UnknownDigest,
            StoreCallError::Damaged {
                reason: String::new(),
            },
        ] {
            assert!(!health.failed(&error, now));
            assert!(health.is_ready(now));
        }
    }
}
