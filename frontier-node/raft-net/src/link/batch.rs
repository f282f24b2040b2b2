//! Heartbeats that wait to travel together.

use std::time::Duration;

use bytes::Bytes;
use raftlog::{GroupId, TransportError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_HEARTBEATS};

/// One heartbeat and who waits for its reply.
pub(crate) struct Beat {
    pub(crate) group_id: GroupId,
    pub(crate) request: Bytes,
    /// When its caller gives up.
    pub(crate) deadline: Instant,
    pub(crate) answer: oneshot::Sender<Result<Bytes, TransportError>>,
}

/// The next message's heartbeats.
#[derive(Default)]
pub(super) struct Batch {
    beats: Vec<Beat>,
    size_bytes: usize,
    due: Option<Instant>,
}

impl Batch {
    /// Another one may be added.
    pub(super) const fn has_room(&self) -> bool {
        self.beats.len() < MAX_BATCH_HEARTBEATS && self.size_bytes < MAX_BATCH_BYTES
    }

    /// When it is to be sent. None while it is empty.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Adds one. The first waits for others at most `window`; a full batch waits no longer.
    pub(super) fn push(&mut self, beat: Beat, now: Instant, window: Duration) {
        self.size_bytes += beat.request.len();
        self.beats.push(beat);
        if self.due.is_none() {
            self.due = Some(now + window);
        }
        if !self.has_room() {
            self.due = Some(now);
        }
    }

    /// Takes what is still waited for.
    pub(super) fn take(&mut self) -> Vec<Beat> {
        let mut beats = std::mem::take(self).beats;
        beats.retain(|beat| !beat.answer.is_closed());
        beats
    }

    /// The connection takes nothing now: later.
    pub(super) fn put_off(&mut self, until: Instant) {
        self.due = self.due.map(|_| until);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(10);

    fn beat(size_bytes: usize) -> (Beat, oneshot::Receiver<Result<Bytes, TransportError>>) {
        let (answer, answered) = oneshot::channel();
        let request = Bytes::from(vec![0; size_bytes]);
        let deadline = Instant::now() + Duration::from_secs(1);
        let beat = Beat {
            group_id: 1,
            request,
            deadline,
            answer,
        };
        (beat, answered)
    }

    #[test]
    fn the_first_sets_the_time_and_a_full_batch_goes_at_once() {
        let (mut batch, now) = (Batch::default(), Instant::now());
        assert_eq!(batch.due(), None);
        let mut waiting = Vec::new();
        for number in 0..MAX_BATCH_HEARTBEATS {
            assert!(batch.has_room());
            let (one, answered) = beat(1);
            waiting.push(answered);
            batch.push(one, now + WINDOW * number as u32 / 2048, WINDOW);
            if number == 1 {
                assert_eq!(batch.due(), Some(now + WINDOW));
            }
        }
        assert!(!batch.has_room());
        assert!(batch.due().unwrap() < now + WINDOW);
        assert_eq!(batch.take().len(), MAX_BATCH_HEARTBEATS);
        assert_eq!((batch.due(), batch.has_room()), (None, true));
        batch.push(beat(MAX_BATCH_BYTES).0, now, WINDOW);
        assert!(!batch.has_room());
    }

    #[test]
    fn what_nobody_waits_for_is_not_sent() {
        let (mut batch, now) = (Batch::default(), Instant::now());
        let (kept, _waits) = beat(1);
        batch.push(kept, now, WINDOW);
        batch.push(beat(1).0, now, WINDOW);
        assert_eq!(batch.take().len(), 1);
    }
}
