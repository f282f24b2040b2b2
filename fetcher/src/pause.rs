//! Leasing pauses while the page store cannot write: what is fetched then would only be put back.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::{STORE_LOOK_MS, STORE_PAUSE_MS};
use crate::pages::Pages;

/// The pause, longer with each refusal in a row.
#[derive(Debug, Default)]
pub struct StorePause(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    until: Option<Instant>,
    next_look: Option<Instant>,
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
        state.next_look = Some(now + Duration::from_millis(STORE_LOOK_MS));
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

    /// Returns when leasing may go on: after its time, or when the stores can tell, as soon as they can write again and not
    /// before.
    pub async fn wait(&self, pages: &dyn Pages) {
        while self.is_on() {
            // Short naps, so that a write in the meantime ends the pause.
            tokio::time::sleep(Duration::from_millis(100)).await;
            if !self.may_look() {
                continue;
            }
            match pages.can_write().await {
                Some(true) => self.wrote(),
                Some(false) => self.hold(),
                None => {}
            }
        }
    }

    /// However many wait, the stores are asked once in a while.
    fn may_look(&self) -> bool {
        let now = Instant::now();
        let mut state = self.0.lock();
        let is_due = state.next_look.is_none_or(|at| at <= now);
        if is_due {
            state.next_look = Some(now + Duration::from_millis(STORE_LOOK_MS));
        }
        is_due
    }

    /// Goes on at least until the stores are asked next.
    fn hold(&self) {
        let next = Instant::now() + Duration::from_millis(2 * STORE_LOOK_MS);
        let mut state = self.0.lock();
        state.until = state.until.map(|until| until.max(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{StoreError, StoredPage};

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
        pause.wait(&Told::default()).await;
    }

    /// Stores that say whether they can write.
    #[derive(Default)]
    struct Told(std::sync::atomic::AtomicUsize);

    #[async_trait::async_trait]
    impl Pages for Told {
        async fn put(&self, _: page_store::Capture) -> Result<StoredPage, StoreError> {
            Err(StoreError::Unavailable("scripted".to_owned()))
        }
        async fn put_unmodified(&self, _: page_store::UnmodifiedCapture) -> Result<(), StoreError> {
            Err(StoreError::Unavailable("scripted".to_owned()))
        }
        async fn can_write(&self) -> Option<bool> {
            Some(self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 2)
        }
    }

    /// A long pause ends when the stores say so, and no earlier.
    #[tokio::test]
    async fn stores_that_can_tell_end_the_pause() {
        let pause = StorePause::default();
        pause.0.lock().next_ms = STORE_PAUSE_MS.1;
        pause.refused();
        let told = Told::default();
        pause.wait(&told).await;
        assert_eq!(told.0.into_inner(), 3);
    }
}
