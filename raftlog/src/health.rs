//! Whether the disk works, for all groups together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::errors::StopReason;
use crate::metrics::{Counters, add};

/// Shared state of the disk: `None` while it works.
#[derive(Clone)]
pub(crate) struct Health {
    sender: Arc<watch::Sender<Option<StopReason>>>,
    low_space: Arc<AtomicBool>,
    counters: Arc<Counters>,
}

impl Health {
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(None)),
            low_space: Arc::default(),
            counters,
        }
    }

    /// Records a failure. The first one counts until the engine has recovered.
    pub(crate) fn fail(&self, reason: StopReason) {
        let is_new = self.sender.send_if_modified(|state| {
            let is_new = state.is_none();
            state.get_or_insert(reason.clone());
            is_new
        });
        if is_new {
            add(&self.counters.disk_failures, 1);
            tracing::error!(%reason, "the disk failed; nothing is acknowledged until it works again");
        }
    }

    /// The disk works again.
    pub(crate) fn recovered(&self) {
        add(&self.counters.disk_recoveries, 1);
        tracing::warn!("the disk works again");
        self.sender.send_replace(None);
    }

    /// The failure, if there is one.
    pub(crate) fn failure(&self) -> Option<StopReason> {
        self.sender.borrow().clone()
    }

    /// Follows the state.
    pub(crate) fn watch(&self) -> watch::Receiver<Option<StopReason>> {
        self.sender.subscribe()
    }

    /// Whether the device has less free space than proposals need.
    pub(crate) fn is_low_on_space(&self) -> bool {
        self.low_space.load(Ordering::Relaxed)
    }

    /// Says whether that is news.
    pub(crate) fn set_low_on_space(&self, low: bool) -> bool {
        self.low_space.swap(low, Ordering::Relaxed) != low
    }
}

/// What kind of failure a disk error is, by the system's words: RocksDB passes them on as text.
pub(crate) fn classify(error: &dyn std::fmt::Display) -> StopReason {
    let text = error.to_string();
    let lower = text.to_ascii_lowercase();
    if lower.contains("no space") || lower.contains("storage full") || lower.contains("quota") {
        StopReason::DiskFull(text)
    } else {
        StopReason::Io(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        let full = std::io::Error::from_raw_os_error(28);
        assert!(matches!(classify(&full), StopReason::DiskFull(_)));
        assert!(matches!(
            classify(&"IO error: No space left on device: x"),
            StopReason::DiskFull(_)
        ));
        assert!(matches!(
            classify(&"IO error: Input/output error"),
            StopReason::Io(_)
        ));
    }

    #[test]
    fn the_first_failure_stays_until_recovery() {
        let health = Health::new(Arc::default());
        health.fail(StopReason::Io("first".into()));
        health.fail(StopReason::Io("second".into()));
        assert_eq!(health.failure(), Some(StopReason::Io("first".into())));
        health.recovered();
        assert_eq!(health.failure(), None);
    }
}
