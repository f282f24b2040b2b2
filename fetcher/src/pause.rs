//! Leasing pauses while the page store cannot write: what is fetched then would only be put back.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::STORE_PAUSE_MS;

/// The pause, longer with each refusal in a row.
#[derive(Debug, Default)]
pub struct StorePause(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    until: Option<Instant>,
    next_ms: u64,
}

impl StorePause {
    /// The store refused to write.
    pub fn refused(&self) {
        let mut state = self.0.lock();
        let now = Instant::now();
        // Fetches that were open when the pause began are refused too; they are not news.
        if state.until.is_some_and(|until| until > now) {
            return;
        }
        let pause_ms = state.next_ms.clamp(STORE_PAUSE_MS.0, STORE_PAUSE_MS.1);
        state.until = Some(now + Duration::from_millis(pause_ms));
        state.next_ms = pause_ms.saturating_mul(2);
    }

    /// The store wrote.
    pub fn wrote(&self) {
        *self.0.lock() = State::default();
    }

    /// Whether leasing pauses now.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0
            .lock()
            .until
            .is_some_and(|until| until > Instant::now())
    }

    /// Returns when leasing may go on.
    pub async fn wait(&self) {
        while self.is_on() {
            // Short naps, so that a write in the meantime ends the pause.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// case J4
    #[tokio::test]
    async fn a_refusal_pauses_and_a_write_ends_it() {
        let pause = StorePause::default();
        assert!(!pause.is_on());
        pause.refused();
        pause.refused();
        assert!(pause.is_on());
        assert_eq!(pause.0.lock().next_ms, 2 * STORE_PAUSE_MS.0);
        pause.wrote();
        assert!(!pause.is_on());
        pause.wait().await;
    }
}
