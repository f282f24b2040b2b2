//! How a fetch touched its host: what the host's clock is moved by.

use std::sync::Arc;

use parking_lot::Mutex;
use proto::frontier_v1 as pb;

use crate::deadline::BootInstant;

/// What happened so far, on this machine's clock. Ages are computed when a report is sent, and again when it is sent again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contact {
    /// When we may first have sent something to the host. A connection attempt counts, though it carries no request.
    pub started: Option<BootInstant>,
    /// When the connection stood and the request could be written.
    pub connected: Option<BootInstant>,
    /// When the response's head was there: at or after its first byte, so that a wait counted from it is never too short.
    pub responded: Option<BootInstant>,
    /// When the fetch was over.
    pub ended: Option<BootInstant>,
    /// The host asked to wait so long; 0 = did not ask.
    pub retry_after_ms: u64,
}

impl Contact {
    /// As it goes into a report that is sent at `now`.
    #[must_use]
    pub fn to_wire(&self, now: BootInstant) -> pb::Contact {
        let Some(started) = self.started else {
            return pb::Contact {
                nothing_written: true,
                ..Default::default()
            };
        };
        let response_time_ms = match (self.connected, self.responded) {
            (Some(connected), Some(responded)) => responded.ms_since(connected),
            (None, Some(responded)) => responded.ms_since(started),
            (_, None) => 0,
        };
        pb::Contact {
            nothing_written: false,
            since_first_byte_ms: self.responded.map(|at| now.ms_since(at)),
            since_end_ms: self.ended.map_or(0, |at| now.ms_since(at)),
            response_time_ms,
            retry_after_ms: self.retry_after_ms,
        }
    }
}

/// The contact of a fetch in progress, shared with the guard that reports for a task that dies.
#[derive(Debug, Clone, Default)]
pub struct ContactTrace(Arc<Mutex<Contact>>);

impl ContactTrace {
    /// The contact as it stands.
    #[must_use]
    pub fn get(&self) -> Contact {
        *self.0.lock()
    }

    /// From here on the host may see something of us.
    pub(crate) fn start(&self) {
        self.0.lock().started.get_or_insert_with(BootInstant::now);
    }

    /// The connection stands.
    pub(crate) fn connect(&self) {
        self.0.lock().connected.get_or_insert_with(BootInstant::now);
    }

    /// The response's head is there.
    pub(crate) fn respond(&self) {
        self.0.lock().responded.get_or_insert_with(BootInstant::now);
    }

    /// The fetch is over; the first call counts.
    pub(crate) fn end(&self) {
        self.0.lock().ended.get_or_insert_with(BootInstant::now);
    }

    /// The host asked to wait.
    pub(crate) fn retry_after(&self, ms: u64) {
        self.0.lock().retry_after_ms = ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Option<BootInstant> {
        Some(BootInstant::from_ms(ms))
    }

    #[test]
    fn untouched_hosts_keep_their_clock() {
        let wire = Contact {
            ended: at(5),
            ..Default::default()
        }
        .to_wire(BootInstant::from_ms(9));
        assert!(wire.nothing_written);
        assert_eq!(wire.since_first_byte_ms, None);
    }

    #[test]
    fn ages_are_taken_at_sending() {
        let contact = Contact {
            started: at(100),
            connected: at(110),
            responded: at(150),
            ended: at(400),
            retry_after_ms: 7,
        };
        let wire = contact.to_wire(BootInstant::from_ms(1_000));
        assert_eq!(wire.since_first_byte_ms, Some(850));
        assert_eq!(
            (
                wire.since_end_ms,
                wire.response_time_ms,
                wire.retry_after_ms
            ),
            (600, 40, 7)
        );
        // Sent again later: older, not longer.
        let again = contact.to_wire(BootInstant::from_ms(2_000));
        assert_eq!(
            (again.since_first_byte_ms, again.response_time_ms),
            (Some(1_850), 40)
        );
    }

    #[test]
    fn without_a_response_the_end_counts() {
        let wire = Contact {
            started: at(100),
            ended: at(400),
            ..Default::default()
        }
        .to_wire(BootInstant::from_ms(450));
        assert!(!wire.nothing_written);
        assert_eq!((wire.since_first_byte_ms, wire.since_end_ms), (None, 50));
        // A task that died before the end: the end is now.
        let died = Contact {
            started: at(100),
            ..Default::default()
        }
        .to_wire(BootInstant::from_ms(450));
        assert_eq!((died.nothing_written, died.since_end_ms), (false, 0));
    }
}
