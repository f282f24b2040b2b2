//! Wall clocks of this node and of the others.

use raftlog::NodeId;
use tokio::time::Instant;

/// This node's own wall clock.
pub trait WallClock: Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00Z.
    fn wall_unix_ms(&self) -> u64;
}

/// What another replica's wall clock shows now, as far as this one can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallSample {
    /// The replica.
    pub replica: NodeId,
    /// Its newest answer, advanced to now by the answer's age on this node's monotonic clock. Right to within half the
    /// round trip of the ping and what both clocks drifted since.
    pub wall_unix_ms: u64,
    /// Age of that answer, in milliseconds.
    pub age_ms: u64,
}

/// An answer as it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    /// The other's wall clock when the answer arrived here.
    wall_unix_ms: u64,
    at: Instant,
}

impl Received {
    /// An answer to a ping that left at `sent`: it was given about half-way between then and `at`.
    pub(crate) fn new(answered_wall_unix_ms: u64, sent: Instant, at: Instant) -> Self {
        let back_ms = at.saturating_duration_since(sent).as_millis() as u64 / 2;
        Self {
            wall_unix_ms: answered_wall_unix_ms.saturating_add(back_ms),
            at,
        }
    }

    /// The sample at a later moment.
    pub(crate) fn advanced(&self, replica: NodeId, now: Instant) -> WallSample {
        let age_ms = now.saturating_duration_since(self.at).as_millis() as u64;
        WallSample {
            replica,
            wall_unix_ms: self.wall_unix_ms.saturating_add(age_ms),
            age_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn half_the_round_trip_and_the_age_are_added() {
        let sent = Instant::now();
        let received = Received::new(1_000_000, sent, sent + Duration::from_millis(40));
        let sample = received.advanced(3, sent + Duration::from_millis(340));
        assert_eq!(
            sample,
            WallSample {
                replica: 3,
                wall_unix_ms: 1_000_320,
                age_ms: 300
            }
        );
    }

    #[test]
    fn a_wild_clock_overflows_nothing() {
        let now = Instant::now();
        let received = Received::new(u64::MAX, now, now + Duration::from_secs(1));
        let sample = received.advanced(1, now + Duration::from_secs(2));
        assert_eq!((sample.wall_unix_ms, sample.age_ms), (u64::MAX, 1000));
    }
}
