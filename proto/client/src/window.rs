//! How many batches one shard gets at once: more while it keeps up, half as many when it says that it does not.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::{OVERLOAD_HOLD_MS, WINDOW_START};
use crate::retry::jittered;

/// The window of one shard. Additive increase, multiplicative decrease.
#[derive(Debug)]
pub(crate) struct Window {
    state: Mutex<State>,
    room: Notify,
    most: usize,
}

#[derive(Debug)]
struct State {
    limit: usize,
    in_flight: usize,
    /// Answers since the limit last grew.
    answers: usize,
    hold_until: Option<Instant>,
}

/// A batch under way; leaves the window when it is dropped.
#[derive(Debug)]
pub(crate) struct Entered<'a>(&'a Window);

impl Window {
    /// At most so many batches at once.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            state: Mutex::new(State {
                limit: WINDOW_START.min(most),
                in_flight: 0,
                answers: 0,
                hold_until: None,
            }),
            room: Notify::new(),
            most,
        }
    }

    /// Waits for room, and for the end of a pause that the shard asked for.
    pub(crate) async fn enter(&self) -> Entered<'_> {
        loop {
            let room = self.room.notified();
            let hold = {
                let mut state = self.state.lock();
                match state.hold_until.filter(|until| *until > Instant::now()) {
                    Some(until) => Some(until),
                    None if state.in_flight < state.limit => {
                        state.in_flight += 1;
                        return Entered(self);
                    }
                    None => None,
                }
            };
            match hold {
                Some(until) => tokio::time::sleep_until(until).await,
                None => room.await,
            }
        }
    }

    #[cfg(test)]
    fn limit(&self) -> usize {
        self.state.lock().limit
    }
}

impl Entered<'_> {
    /// The shard kept up.
    pub(crate) fn kept_up(&self) {
        let mut state = self.0.state.lock();
        state.answers += 1;
        if state.answers >= state.limit && state.limit < self.0.most {
            state.limit += 1;
            state.answers = 0;
            drop(state);
            self.0.room.notify_waiters();
        }
    }

    /// The shard did not keep up: fewer at once, and none before `retry_after_ms`, spread out by jitter.
    pub(crate) fn overloaded(&self, retry_after_ms: u64) {
        let pause_ms = retry_after_ms.min(OVERLOAD_HOLD_MS);
        let pause = Duration::from_millis(pause_ms + jittered(pause_ms / 2));
        let mut state = self.0.state.lock();
        state.limit = (state.limit / 2).max(1);
        state.answers = 0;
        let until = Instant::now() + pause;
        state.hold_until = Some(state.hold_until.map_or(until, |held| held.max(until)));
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.state.lock().in_flight -= 1;
        self.0.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn grows_while_the_shard_keeps_up_and_halves_when_not() {
        let window = Window::new(WINDOW_START + 2);
        assert_eq!(window.limit(), WINDOW_START);
        for _ in 0..200 {
            window.enter().await.kept_up();
        }
        assert_eq!(window.limit(), WINDOW_START + 2);
        window.enter().await.overloaded(0);
        assert_eq!(window.limit(), (WINDOW_START + 2) / 2);
        for _ in 0..20 {
            window.enter().await.overloaded(0);
        }
        assert_eq!(window.limit(), 1);
    }

    #[tokio::test]
    async fn a_full_window_waits_for_room() {
        let window = Window::new(1);
        let inside = window.enter().await;
        assert!(window.enter().now_or_never().is_none());
        let (waited, ()) = tokio::join!(window.enter(), async { drop(inside) });
        drop(waited);
        assert!(window.enter().now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_asked_pause_holds_everybody() {
        let window = Window::new(4);
        window.enter().await.overloaded(60_000);
        assert!(window.enter().now_or_never().is_none());
    }
}
