//! What a leader remembers of the sessions that ask for leases.
//!
//! A call that would get nothing costs no log entry: it is parked, and answered empty when its wait is over. That is safe
//! only where no earlier attempt of the same number can have been granted anything, which a leader knows for a session
//! once an entry of its own leadership has answered it. Until then, and for numbers it proposed before, a call goes to the
//! log at once, where the machine repeats the old answer.
//!
//! One attempt of a session is alive at a time: a newer one ends the older, which can then be granted nothing any more.

use std::num::NonZeroUsize;
use std::sync::Arc;

use client::CallError;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::errors::unavailable;
use crate::limits::REMEMBERED_SESSIONS;

type SessionId = [u8; 16];

/// The sessions of one shard.
pub(crate) struct Sessions {
    inner: Mutex<LruCache<SessionId, Note>>,
}

struct Note {
    /// The leadership in which this was learnt.
    term: u64,
    /// The newest number that may have been answered; `None` before the first answer of this leadership.
    answered: Option<u64>,
    /// The newest number that went to the log in this leadership.
    proposed: u64,
    /// The newest number seen.
    newest: u64,
    /// The attempt that is alive.
    attempt: Arc<Attempt>,
}

/// One attempt of a call. Ended by a newer one.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    ended: Notify,
    newest: Mutex<Option<u64>>,
}

impl Attempt {
    fn end(&self, newest: u64) {
        *self.newest.lock() = Some(newest);
        self.ended.notify_one();
    }

    /// Waits until a newer attempt ends this one; its number.
    pub(crate) async fn ended(&self) -> u64 {
        loop {
            if let Some(newest) = *self.newest.lock() {
                return newest;
            }
            self.ended.notified().await;
        }
    }

    /// What an attempt of `number` answers when it was ended by `newest`.
    pub(crate) fn superseded(number: u64, newest: u64) -> CallError {
        if newest > number {
            return CallError::StaleCall {
                newest_number: newest,
            };
        }
        unavailable("a later attempt of the same call took its place")
    }
}

/// How a call goes on.
#[derive(Debug)]
pub(crate) struct Admission {
    /// It may wait for something ready; else it must go to the log at once.
    pub(crate) may_park: bool,
    pub(crate) attempt: Arc<Attempt>,
}

impl Default for Sessions {
    fn default() -> Self {
        let capacity = NonZeroUsize::new(REMEMBERED_SESSIONS).unwrap_or(NonZeroUsize::MIN);
        Self {
            inner: Mutex::new(LruCache::new(capacity)),
        }
    }
}

impl Sessions {
    /// An attempt of a call begins.
    ///
    /// # Errors
    ///
    /// A newer number was seen.
    pub(crate) fn admit(
        &self,
        id: SessionId,
        number: u64,
        term: u64,
    ) -> Result<Admission, CallError> {
        let mut inner = self.inner.lock();
        let attempt = Arc::new(Attempt::default());
        let Some(note) = inner.get_mut(&id).filter(|note| note.term == term) else {
            if let Some(old) = inner.push(
                id,
                Note {
                    term,
                    answered: None,
                    proposed: 0,
                    newest: number,
                    attempt: Arc::clone(&attempt),
                },
            ) && old.0 == id
            {
                old.1.attempt.end(number);
            }
            return Ok(Admission {
                may_park: false,
                attempt,
            });
        };
        if number < note.newest {
            return Err(CallError::StaleCall {
                newest_number: note.newest,
            });
        }
        note.newest = number;
        std::mem::replace(&mut note.attempt, Arc::clone(&attempt)).end(number);
        let may_park = note
            .answered
            .is_some_and(|answered| number > answered.max(note.proposed));
        Ok(Admission { may_park, attempt })
    }

    /// A call is about to go to the log.
    pub(crate) fn propose(&self, id: SessionId, number: u64, term: u64) {
        if let Some(note) = self
            .inner
            .lock()
            .get_mut(&id)
            .filter(|note| note.term == term)
        {
            note.proposed = note.proposed.max(number);
        }
    }

    /// An entry of this leadership answered the session: nothing newer than `number` was ever granted before.
    pub(crate) fn answered(&self, id: SessionId, number: u64, term: u64) {
        if let Some(note) = self
            .inner
            .lock()
            .get_mut(&id)
            .filter(|note| note.term == term)
        {
            note.answered = Some(note.answered.unwrap_or(0).max(number));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ID: SessionId = [7; 16];

    #[test]
    fn a_session_parks_only_once_this_leadership_answered_it() {
        let sessions = Sessions::default();
        assert!(!sessions.admit(ID, 4, 1).unwrap().may_park);
        sessions.propose(ID, 4, 1);
        assert!(
            !sessions.admit(ID, 5, 1).unwrap().may_park,
            "not answered yet"
        );
        sessions.answered(ID, 4, 1);
        assert!(sessions.admit(ID, 5, 1).is_ok());
        assert!(sessions.admit(ID, 5, 1).unwrap().may_park);
        sessions.propose(ID, 5, 1);
        assert!(
            !sessions.admit(ID, 5, 1).unwrap().may_park,
            "it may have been granted something"
        );
        assert!(sessions.admit(ID, 6, 1).unwrap().may_park);
        assert!(
            !sessions.admit(ID, 7, 2).unwrap().may_park,
            "another leadership knows nothing"
        );
    }

    #[tokio::test]
    async fn a_newer_attempt_ends_the_older() {
        let sessions = Sessions::default();
        let first = sessions.admit(ID, 1, 1).unwrap();
        let second = sessions.admit(ID, 1, 1).unwrap();
        assert_eq!(first.attempt.ended().await, 1);
        assert!(Attempt::superseded(1, 1).is_retryable());
        let _third = sessions.admit(ID, 2, 1).unwrap();
        assert_eq!(second.attempt.ended().await, 2);
        assert_eq!(
            Attempt::superseded(1, 2),
            CallError::StaleCall { newest_number: 2 }
        );
        assert_eq!(
            sessions.admit(ID, 1, 1).unwrap_err(),
            CallError::StaleCall { newest_number: 2 }
        );
    }
}
