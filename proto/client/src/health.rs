//! Whether a frontier process answers: what callers know of it together, so that one of them finds out for all.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::SUSPECT_MS;

/// The health of one process. A process that failed is suspect for a while, longer with each failure in a row.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    suspect_until: Option<Instant>,
    next_ms: u64,
}

impl Health {
    /// It answered something.
    pub(crate) fn answered(&self) {
        *self.0.lock() = State::default();
    }

    /// It refused a connection, lost one, or kept silent.
    pub(crate) fn failed(&self) {
        let mut state = self.0.lock();
        let now = Instant::now();
        // Calls that were under way when it failed fail too; they are not news.
        if state.suspect_until.is_some_and(|until| until > now) {
            return;
        }
        let pause_ms = state.next_ms.clamp(SUSPECT_MS.0, SUSPECT_MS.1);
        state.suspect_until = Some(now + Duration::from_millis(pause_ms));
        state.next_ms = pause_ms.saturating_mul(2);
    }

    /// Until when it is suspect, if it is now.
    pub(crate) fn suspect_until(&self) -> Option<Instant> {
        self.0
            .lock()
            .suspect_until
            .filter(|until| *until > Instant::now())
    }

    /// Whether nothing but failures was seen since its last answer.
    pub(crate) fn is_down(&self) -> bool {
        self.0.lock().suspect_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_make_suspect_and_an_answer_ends_it() {
        let health = Health::default();
        assert!(health.suspect_until().is_none() && !health.is_down());
        health.failed();
        health.failed();
        assert!(health.suspect_until().is_some() && health.is_down());
        assert_eq!(health.0.lock().next_ms, 2 * SUSPECT_MS.0);
        health.answered();
        assert!(health.suspect_until().is_none() && !health.is_down());
    }
}
