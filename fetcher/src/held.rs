//! A lease in our hands, and the guard that answers for it whatever becomes of the task that holds it.

use std::sync::Arc;

use proto::frontier_v1 as pb;
use tokio::sync::oneshot;

use crate::contact::ContactTrace;
use crate::deadline::Deadline;
use crate::metrics::Metrics;
use crate::outcome::{End, orphan_end};
use crate::report::Reporter;

/// Identity and time of a lease.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) shard: u64,
    pub(crate) key: pb::LeaseKey,
    pub(crate) token: u64,
    pub(crate) deadline: Deadline,
}

/// Owns a lease from the moment its grant is read. Exactly one report or release leaves it: the one it is told, or at
/// its drop, one for a task that panicked or was stopped (case B19).
pub(crate) struct LeaseGuard {
    held: Held,
    trace: ContactTrace,
    reporter: Arc<Reporter>,
    metrics: Arc<Metrics>,
    open: bool,
}

impl LeaseGuard {
    pub(crate) fn new(held: Held, reporter: Arc<Reporter>, metrics: Arc<Metrics>) -> Self {
        Self {
            held,
            trace: ContactTrace::default(),
            reporter,
            metrics,
            open: true,
        }
    }

    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    pub(crate) fn trace(&self) -> &ContactTrace {
        &self.trace
    }

    /// Sends the end; the receiver hears when the frontier has answered, or when nobody tries any more.
    pub(crate) fn finish(mut self, end: End) -> oneshot::Receiver<()> {
        self.open = false;
        self.send(end)
    }

    fn send(&self, end: End) -> oneshot::Receiver<()> {
        self.trace.end();
        // Nothing can be given back once the host may have seen us.
        let end = match end {
            End::Release if self.trace.get().started.is_some() => {
                orphan_end(self.held.key.kind(), false)
            }
            end => end,
        };
        self.reporter.send(self.held.clone(), self.trace.get(), end)
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        self.metrics.orphans.increment();
        let panicked = std::thread::panicking();
        let end = if panicked {
            orphan_end(self.held.key.kind(), true)
        } else {
            End::Release
        };
        drop(self.send(end));
    }
}
