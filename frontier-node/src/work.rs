//! Work that blocks: on threads made for that, or on the spot where the log's engine does its own on the spot.

use client::CallError;
use raftlog::Threads;

use crate::errors::unavailable;

/// Where work that blocks is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// On the runtime's threads for that.
    Threads,
    /// By the caller: in a simulation nothing may depend on when the system runs which thread.
    Inline,
}

impl From<&Threads> for Work {
    fn from(threads: &Threads) -> Self {
        if threads.is_inline() {
            Self::Inline
        } else {
            Self::Threads
        }
    }
}

impl Work {
    /// Whether the caller does it.
    pub(crate) const fn is_inline(self) -> bool {
        matches!(self, Self::Inline)
    }

    /// Does it.
    ///
    /// # Errors
    ///
    /// It panicked, or the runtime is ending.
    pub(crate) async fn run<R: Send + 'static>(
        self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, CallError> {
        match self {
            Self::Inline => Ok(work()),
            Self::Threads => tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| unavailable(format!("a read failed: {error}"))),
        }
    }
}
