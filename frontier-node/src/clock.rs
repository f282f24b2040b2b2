//! Clocks of a node, and the clock of one leadership that stamps entries.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where time comes from. A trait, so that the agreed wall clock of several replicas can take the place of the system's,
/// and so that tests can let time pass.
pub trait Clocks: Send + Sync + 'static {
    /// Monotonic time of this process. It may stand still while the machine is suspended: that makes hosts wait longer.
    fn now(&self) -> Instant;

    /// The replicas' agreed wall clock, Unix ms. May step either way.
    fn wall_unix_ms(&self) -> u64;
}

/// The system's clocks. With one replica its own wall clock is the median of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClocks;

impl Clocks for SystemClocks {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall_unix_ms(&self) -> u64 {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
    }
}

/// What is known of the newest stamped entry in this replica's log, at an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewestStamp {
    /// Its stamp, shard time in ms.
    pub(crate) now_ms: u64,
    /// When this process received exactly this entry; `None` if it did not in this run.
    pub(crate) received: Option<Instant>,
}

/// Shard time of one leadership.
///
/// For two stamps a before b in a log, b - a never exceeds the real time between their making: each stamp is a base plus
/// 0.9995 of the monotonic time since the election, so a leader's clock that runs up to 500 ppm fast still runs slow, and
/// the base adds time only from the moment this process received the newest stamped entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardClock {
    base_ms: u64,
    since: Instant,
}

impl ShardClock {
    /// The clock of a leadership that was won at `elected`.
    pub(crate) fn elected(elected: Instant, applied_ms: u64, newest: Option<NewestStamp>) -> Self {
        let from_log = newest.map_or(0, |stamp| {
            let passed = stamp
                .received
                .map_or(Duration::ZERO, |at| elected.saturating_duration_since(at));
            stamp.now_ms.saturating_add(slowed_ms(passed))
        });
        Self {
            base_ms: applied_ms.max(from_log),
            since: elected,
        }
    }

    /// Shard time at a moment of this leadership, ms.
    pub(crate) fn stamp_ms(&self, at: Instant) -> u64 {
        self.base_ms
            .saturating_add(slowed_ms(at.saturating_duration_since(self.since)))
    }

    /// The monotonic moment at which shard time surely reaches `shard_ms`, at most `longest` after `at`.
    pub(crate) fn when(&self, shard_ms: u64, at: Instant, longest: Duration) -> Instant {
        let missing_ms = shard_ms.saturating_sub(self.stamp_ms(at));
        // The inverse of 0.9995, rounded up, and one more for the part of a millisecond that a stamp drops.
        let real_ms = missing_ms
            .saturating_add(missing_ms / 1_999)
            .saturating_add(u64::from(missing_ms > 0) * 2);
        at + Duration::from_millis(real_ms).min(longest)
    }
}

/// 0.9995 of a duration, in whole ms, rounded down.
fn slowed_ms(passed: Duration) -> u64 {
    let slowed_ns = passed.as_nanos() / 10_000 * 9_995;
    u64::try_from(slowed_ns / 1_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn stamps_run_at_most_as_fast_as_real_time() {
        let start = Instant::now();
        let clock = ShardClock::elected(start, 1_000, None);
        assert_eq!(clock.stamp_ms(start), 1_000);
        assert_eq!(clock.stamp_ms(start + ms(10_000)), 1_000 + 9_995);
        let mut last = clock.stamp_ms(start);
        for step in 1..2_000u64 {
            let stamp = clock.stamp_ms(start + ms(step * 7));
            assert!(stamp >= last && stamp - last <= 7);
            last = stamp;
        }
    }

    #[test]
    fn the_base_is_the_larger_of_state_and_log() {
        let start = Instant::now();
        let at = |newest| {
            ShardClock::elected(start + ms(20_000), 5_000, newest).stamp_ms(start + ms(20_000))
        };
        // Before this run: nothing is added, however long ago it may be.
        assert_eq!(
            at(Some(NewestStamp {
                now_ms: 7_000,
                received: None
            })),
            7_000
        );
        // Received in this run: its age on this clock is added, slowed.
        assert_eq!(
            at(Some(NewestStamp {
                now_ms: 7_000,
                received: Some(start)
            })),
            7_000 + 19_990
        );
        assert_eq!(
            at(Some(NewestStamp {
                now_ms: 10,
                received: None
            })),
            5_000
        );
        assert_eq!(at(None), 5_000);
    }

    #[test]
    fn when_is_never_too_early() {
        let start = Instant::now();
        let clock = ShardClock::elected(start, 100, None);
        for target in [100, 101, 350, 10_000, 99_999_999] {
            let at = clock.when(target, start, ms(u64::from(u32::MAX)));
            assert!(clock.stamp_ms(at) >= target, "{target}");
        }
        assert_eq!(clock.when(50, start, ms(5)), start);
        assert_eq!(clock.when(u64::MAX, start, ms(5)), start + ms(5));
    }
}
