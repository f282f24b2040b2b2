//! Pauses between tries: exponential, capped, with jitter, never beyond a deadline.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The tries of one operation.
#[derive(Debug)]
pub(crate) struct Retry {
    deadline: Instant,
    pause_ms: u64,
    range_ms: (u64, u64),
}

impl Retry {
    pub(crate) fn new(deadline: Instant, range_ms: (u64, u64)) -> Self {
        Self {
            deadline,
            pause_ms: range_ms.0,
            range_ms,
        }
    }

    /// What is left until the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Something got through: the next pause is a short one again.
    pub(crate) fn progress(&mut self) {
        self.pause_ms = self.range_ms.0;
    }

    /// Sleeps before the next try, at least `asked_ms`; false when the deadline leaves no room for one.
    pub(crate) async fn pause(&mut self, asked_ms: u64) -> bool {
        let pause = Duration::from_millis(jittered(self.pause_ms).max(asked_ms));
        self.pause_ms = self.pause_ms.saturating_mul(2).min(self.range_ms.1);
        if pause >= self.left() {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }
}

thread_local! {
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// From now on the jitter of this thread follows from `seed`; `None`: from the system again. For simulations.
pub fn seed_jitter(seed: Option<u64>) {
    SEEDED.set(seed);
}

/// Between half of it and all of it.
pub(crate) fn jittered(pause_ms: u64) -> u64 {
    pause_ms - number() % (pause_ms / 2 + 1)
}

/// Somewhere between two bounds.
pub(crate) fn between(least_ms: u64, most_ms: u64) -> u64 {
    least_ms + number() % (most_ms.saturating_sub(least_ms) + 1)
}

/// The standard library's hasher is seeded at random, which is all that jitter needs.
fn number() -> u64 {
    let Some(last) = SEEDED.get() else {
        return RandomState::new().hash_one(0_u8);
    };
    let next = last
        .wrapping_mul(0x5851_f42d_4c95_7f2d)
        .wrapping_add(0x1405_7b7e_f767_814f);
    SEEDED.set(Some(next));
    next >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_in_its_half() {
        for pause_ms in [0, 1, 2, 50, 2_000] {
            let value = jittered(pause_ms);
            assert!(
                value <= pause_ms && value >= pause_ms / 2,
                "{value} of {pause_ms}"
            );
        }
    }

    #[test]
    fn a_value_between_bounds_keeps_to_them() {
        for _ in 0..64 {
            assert!((20..=100).contains(&between(20, 100)));
        }
        assert_eq!(between(7, 7), 7);
    }

    #[tokio::test]
    async fn the_deadline_ends_the_tries() {
        let mut retry = Retry::new(Instant::now() + Duration::from_millis(60), (5, 10));
        let mut tries = 0;
        while retry.pause(0).await {
            tries += 1;
        }
        assert!((1..=24).contains(&tries), "{tries}");
        let mut refused = Retry::new(Instant::now() + Duration::from_millis(400), (50, 100));
        assert!(!refused.pause(500).await);
    }
}
