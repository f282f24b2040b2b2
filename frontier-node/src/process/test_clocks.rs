//! Clocks that are wrong on purpose, for drills: a wall clock that is off, a monotonic clock that runs fast or slow, or jumps ahead so
//! that a drill need not wait.

use std::time::{Duration, Instant};

use crate::clock::{Clocks, SystemClocks};

/// The system's clocks, bent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestClocks {
    start: Instant,
    wall_offset_ms: i64,
    rate_ppm: i64,
    jump: Duration,
}

/// When the monotonic clock jumps, after the start.
const JUMPS_AFTER: Duration = Duration::from_secs(5);

impl TestClocks {
    /// Off by an offset in ms and a rate in parts per million; both 0: right.
    pub(crate) fn new(wall_offset_ms: i64, rate_ppm: i64) -> Self {
        Self {
            start: Instant::now(),
            wall_offset_ms,
            rate_ppm,
            jump: Duration::ZERO,
        }
    }

    /// The same, and it jumps ahead once.
    pub(crate) fn with_jump(self, jump_ms: u64) -> Self {
        Self {
            jump: Duration::from_millis(jump_ms),
            ..self
        }
    }

    /// What has passed, with the jump once it was made.
    fn jumped(&self, elapsed: Duration) -> Duration {
        if elapsed < JUMPS_AFTER {
            return elapsed;
        }
        elapsed + self.jump
    }

    fn bend(&self, elapsed: Duration) -> Duration {
        let rate = u128::try_from(1_000_000 + self.rate_ppm).unwrap_or(1_000_000);
        let bent_ns = elapsed.as_nanos() * rate / 1_000_000;
        Duration::from_nanos(u64::try_from(bent_ns).unwrap_or(u64::MAX))
    }
}

impl Clocks for TestClocks {
    fn now(&self) -> Instant {
        if self.rate_ppm == 0 && self.jump.is_zero() {
            return SystemClocks.now();
        }
        self.start + self.bend(self.jumped(self.start.elapsed()))
    }

    fn wall_unix_ms(&self) -> u64 {
        SystemClocks
            .wall_unix_ms()
            .saturating_add_signed(self.wall_offset_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_is_fast_and_a_wrong_wall_is_wrong() {
        let fast = TestClocks::new(-5_000, 500);
        assert_eq!(
            fast.bend(Duration::from_secs(2_000)),
            Duration::from_secs(2_001)
        );
        let jumping = TestClocks::new(0, 0).with_jump(600_000);
        let seconds = |s| Duration::from_secs(s);
        assert_eq!(jumping.jumped(seconds(4)), seconds(4));
        assert_eq!(jumping.jumped(seconds(6)), seconds(606));
        let slow = TestClocks::new(0, -500);
        assert_eq!(
            slow.bend(Duration::from_secs(2_000)),
            Duration::from_secs(1_999)
        );
        let right = SystemClocks.wall_unix_ms();
        assert!(fast.wall_unix_ms() <= right && fast.wall_unix_ms() + 6_000 > right);
    }
}
