//! The deadline rule: until when a lease's holder may contact the host, counted on its own clock from before it asked.
//!
//! The clock is `CLOCK_BOOTTIME`, which runs on while the machine sleeps: a suspended fetcher must not wake up and use a
//! lease that others have seen expire. What remains: a pause longer than the fetch timeout between the last check and the
//! write of the request.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::limits::{DEADLINE_MARGIN_DIVISOR, DEADLINE_MARGIN_MS};

/// A moment on `CLOCK_BOOTTIME`, in milliseconds since this machine booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(u64);

impl BootInstant {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let millis = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
        Self(seconds.saturating_mul(1_000).saturating_add(millis))
    }

    /// A moment by its number of milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// The moment this many milliseconds later.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment; 0 if it is not earlier.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Until when a lease may be used for contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(BootInstant);

impl Deadline {
    /// The rule: `sent` (of the attempt that was answered) + `held_ms` + `remaining_ms` - margin, margin = 1 s + a
    /// five-hundredth of what the lease lasts, for clocks that differ in rate.
    #[must_use]
    pub const fn of_lease(sent: BootInstant, held_ms: u64, remaining_ms: u64) -> Self {
        let length_ms = held_ms.saturating_add(remaining_ms);
        let margin_ms =
            DEADLINE_MARGIN_MS.saturating_add(length_ms.div_ceil(DEADLINE_MARGIN_DIVISOR));
        Self(sent.plus_ms(length_ms.saturating_sub(margin_ms)))
    }

    /// A deadline at a moment.
    #[must_use]
    pub const fn at(moment: BootInstant) -> Self {
        Self(moment)
    }

    /// Milliseconds left at `now`.
    #[must_use]
    pub const fn left_ms(self, now: BootInstant) -> u64 {
        self.0.ms_since(now)
    }

    /// Whether a request may start at `now`: only while a whole fetch timeout remains.
    #[must_use]
    pub const fn permits_start(self, now: BootInstant, fetch_timeout: Duration) -> bool {
        self.left_ms(now) as u128 >= fetch_timeout.as_millis()
    }

    /// Whether nothing may be written any more at `now`.
    #[must_use]
    pub const fn passed(self, now: BootInstant) -> bool {
        self.left_ms(now) == 0
    }

    /// Milliseconds since the deadline at `now`; 0 before it.
    #[must_use]
    pub const fn ms_past(self, now: BootInstant) -> u64 {
        now.ms_since(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_before_the_call_and_keeps_the_margin() {
        let sent = BootInstant::from_ms(1_000_000);
        let deadline = Deadline::of_lease(sent, 2_000, 118_000);
        // 120 s - (1 s + 240 ms).
        assert_eq!(deadline, Deadline::at(BootInstant::from_ms(1_118_760)));
        assert_eq!(deadline.left_ms(sent), 118_760);
        assert!(deadline.permits_start(BootInstant::from_ms(1_088_760), Duration::from_secs(30)));
        assert!(!deadline.permits_start(BootInstant::from_ms(1_088_761), Duration::from_secs(30)));
        assert!(!deadline.passed(BootInstant::from_ms(1_118_759)));
        assert!(deadline.passed(BootInstant::from_ms(1_118_760)));
        assert_eq!(deadline.ms_past(BootInstant::from_ms(1_118_761)), 1);
    }

    #[test]
    fn a_lease_shorter_than_its_margin_is_over_at_once() {
        let sent = BootInstant::from_ms(5);
        assert!(Deadline::of_lease(sent, 0, 900).passed(sent));
        assert!(!Deadline::of_lease(sent, 0, 900).permits_start(sent, Duration::from_millis(1)));
    }

    #[test]
    fn nothing_overflows() {
        let deadline = Deadline::of_lease(BootInstant::from_ms(u64::MAX), u64::MAX, u64::MAX);
        assert!(deadline.passed(BootInstant::from_ms(u64::MAX)));
        assert!(BootInstant::now() > BootInstant::from_ms(0));
    }
}
