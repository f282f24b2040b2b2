//! What does the engine's blocking work: threads, or the caller on the spot.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where the engine does what blocks.
#[derive(Clone, Default)]
pub enum Threads {
    /// On threads of its own.
    #[default]
    Real,
    /// On the spot: nothing depends on when the system runs which thread, so that a simulation under virtual time can be
    /// repeated. What a disk would take is waited for in the runtime's time. The engine is opened inside that runtime.
    Inline(Arc<dyn VirtualDisk>),
}

impl Threads {
    /// Whether work is done on the spot.
    pub fn is_inline(&self) -> bool {
        self.disk().is_some()
    }

    pub(crate) fn disk(&self) -> Option<Arc<dyn VirtualDisk>> {
        match self {
            Self::Real => None,
            Self::Inline(disk) => Some(Arc::clone(disk)),
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_inline() { "Inline" } else { "Real" })
    }
}

/// How long the disk of a simulation takes, in the runtime's time.
pub trait VirtualDisk: Send + Sync + 'static {
    /// Of the next sync of the log. What was written before it is not durable meanwhile.
    fn log_sync(&self) -> Duration;
    /// Of the next flush of the state.
    fn state_flush(&self) -> Duration;
    /// A sync of the log has ended: what is in its files is durable.
    fn log_synced(&self);
}
