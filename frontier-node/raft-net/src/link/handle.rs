//! A link as its users see it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use raftlog::{GroupId, TransportError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::batch::Beat;
use crate::limits::MAX_WAITING_HEARTBEATS;
use crate::wall::Received;

/// What a link does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkState {
    /// It is being opened: about to be known.
    Dialing,
    /// It is open.
    Up,
    /// It could not be opened; tried again after a pause.
    Down(Arc<str>),
}

/// The users' end of a link.
pub(crate) struct LinkHandle {
    queue: mpsc::Sender<Beat>,
    state: watch::Receiver<LinkState>,
    sample: Arc<Mutex<Option<Received>>>,
}

/// The task's end.
pub(crate) struct LinkEnd {
    pub(super) queue: mpsc::Receiver<Beat>,
    pub(super) state: watch::Sender<LinkState>,
    pub(super) sample: Arc<Mutex<Option<Received>>>,
}

/// Both ends of a new link.
pub(crate) fn new() -> (LinkHandle, LinkEnd) {
    let (sender, queue) = mpsc::channel(MAX_WAITING_HEARTBEATS);
    let (state, seen) = watch::channel(LinkState::Dialing);
    let sample: Arc<Mutex<Option<Received>>> = Arc::default();
    let handle = LinkHandle {
        queue: sender,
        state: seen,
        sample: Arc::clone(&sample),
    };
    let end = LinkEnd {
        queue,
        state,
        sample,
    };
    (handle, end)
}

impl LinkHandle {
    /// The peer's newest clock sample.
    pub(crate) fn sample(&self) -> Option<Received> {
        *self.sample.lock()
    }

    /// Whether it is open.
    pub(crate) fn is_open(&self) -> bool {
        *self.state.borrow() == LinkState::Up
    }

    /// Sends one heartbeat with the next batch and waits for its own reply, at most `timeout`; fails at once while the
    /// link is down.
    pub(crate) async fn heartbeat(
        &self,
        group_id: GroupId,
        request: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        let deadline = Instant::now() + timeout;
        match tokio::time::timeout_at(deadline, self.exchange(group_id, request, deadline)).await {
            Ok(reply) => reply,
            Err(_) => Err(TransportError::TimedOut),
        }
    }

    async fn exchange(
        &self,
        group_id: GroupId,
        request: Bytes,
        deadline: Instant,
    ) -> Result<Bytes, TransportError> {
        self.up().await?;
        let (answer, answered) = oneshot::channel();
        let beat = Beat {
            group_id,
            request,
            deadline,
            answer,
        };
        self.queue.try_send(beat).map_err(|error| {
            TransportError::Unreachable(match error {
                mpsc::error::TrySendError::Full(_) => "too many heartbeats wait".to_owned(),
                mpsc::error::TrySendError::Closed(_) => "the link is closed".to_owned(),
            })
        })?;
        answered
            .await
            .unwrap_or_else(|_| Err(TransportError::Unreachable("the link broke".to_owned())))
    }

    /// Waits while the link is being opened.
    async fn up(&self) -> Result<(), TransportError> {
        let mut state = self.state.clone();
        let decided = state.wait_for(|state| *state != LinkState::Dialing).await;
        let reason = match decided.as_deref() {
            Ok(LinkState::Down(reason)) => reason.to_string(),
            Ok(_) => return Ok(()),
            Err(_) => "the link is closed".to_owned(),
        };
        Err(TransportError::Unreachable(reason))
    }
}
