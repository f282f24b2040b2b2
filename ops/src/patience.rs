//! Waiting for a cluster that is about to be there: nodes that are still starting, or shards that elect a leader.

use crate::limits::{CLUSTER_NOTE_AFTER, CLUSTER_PAUSE, CLUSTER_WITHIN};
use crate::output;
use client::CallError;
use std::fmt::Display;
use std::time::Duration;
use tokio::time::Instant;

/// An end that waiting may mend.
pub trait MayPass {
    /// Whether the same may succeed a moment later.
    fn may_pass(&self) -> bool;
}

impl MayPass for CallError {
    fn may_pass(&self) -> bool {
        self.is_retryable()
    }
}

impl MayPass for client::RouterError {
    /// A wrong address or another cluster's identity stays wrong.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.is_retryable())
    }
}

impl MayPass for page_service::StoreCallError {
    fn may_pass(&self) -> bool {
        matches!(self, Self::NoAnswer { .. })
    }
}

/// How long a command still waits, all its calls together.
#[derive(Debug)]
pub struct Patience {
    since: Instant,
    within: Duration,
    said: bool,
    note: fn(&str),
}

impl Patience {
    /// Begins now; what is waited for is said on stderr.
    pub fn new() -> Self {
        Self::saying(|text| output::note(text))
    }

    /// Of its own length, and without a word.
    pub fn quiet(within: Duration) -> Self {
        Self {
            within,
            ..Self::saying(|_| {})
        }
    }

    fn saying(note: fn(&str)) -> Self {
        Self {
            since: Instant::now(),
            within: CLUSTER_WITHIN,
            said: false,
            note,
        }
    }

    /// Tries until it succeeds, fails for good, or patience is at its end.
    pub async fn until<T, E: MayPass + Display>(
        &mut self,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            match attempt().await {
                Err(error) if error.may_pass() && self.since.elapsed() < self.within => {
                    self.say(&error);
                }
                end => return end,
            }
            tokio::time::sleep(CLUSTER_PAUSE).await;
        }
    }

    /// One line for all that is waited for.
    fn say(&mut self, error: &impl Display) {
        if self.said || self.since.elapsed() < CLUSTER_NOTE_AFTER {
            return;
        }
        self.said = true;
        let longest_s = self.within.as_secs();
        (self.note)(&format!(
            "escapement: waiting up to {longest_s} s for the cluster: {error}"
        ));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn joining() -> CallError {
        CallError::Unavailable {
            reason: "the node is still joining its cluster".to_owned(),
            retry_after_ms: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_waited_for_and_said_once() {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let mut patience = Patience::saying(|text| SAID.lock().unwrap().push(text.to_owned()));
        let mut left = 50;
        let end = patience.until(async || {
            left -= 1;
            if left == 0 { Ok(7) } else { Err(joining()) }
        });
        assert_eq!(end.await, Ok(7));
        let said = SAID.lock().unwrap();
        assert!(
            said.len() == 1 && said[0].contains("still joining"),
            "{said:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_what_stays_wrong_is_not_tried_again() {
        let mut patience = Patience::saying(|_| {});
        let mut tries = 0;
        let end = patience.until(async || {
            tries += 1;
            Err::<(), _>(joining())
        });
        assert_eq!(end.await, Err(joining()));
        let most = CLUSTER_WITHIN.as_millis() / CLUSTER_PAUSE.as_millis() + 1;
        assert!(tries > 10 && tries <= most, "{tries}");
        let mut tries = 0;
        let mut patience = Patience::quiet(CLUSTER_PAUSE * 3);
        let end = patience.until(async || {
            tries += 1;
            Err::<(), _>(joining())
        });
        assert_eq!((end.await, tries), (Err(joining()), 4));
        let mut tries = 0;
        let wrong = || client::RouterError::SuffixList { theirs: 1, ours: 2 };
        let end = Patience::saying(|_| {})
            .until(async || {
                tries += 1;
                Err::<(), _>(wrong())
            })
            .await;
        assert_eq!((end, tries), (Err(wrong()), 1));
    }
}
