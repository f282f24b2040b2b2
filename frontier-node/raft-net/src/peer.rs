//! One other replica, as this one reaches it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lanes::Lanes;
use crate::link::LinkHandle;

/// A peer: its link, which a task keeps open, and its lanes.
pub(crate) struct Peer {
    pub(crate) link: LinkHandle,
    pub(crate) lanes: Lanes,
    used: Mutex<Instant>,
    /// Ends the link's task when the peer is forgotten.
    _link_ends: DropGuard,
}

impl Peer {
    pub(crate) fn new(link: LinkHandle, stop_link: CancellationToken) -> Self {
        Self {
            link,
            lanes: Lanes::default(),
            used: Mutex::new(Instant::now()),
            _link_ends: stop_link.drop_guard(),
        }
    }

    /// Somebody sends to it, or the address book lists it.
    pub(crate) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// Time since it was last touched.
    pub(crate) fn idle(&self) -> Duration {
        self.used.lock().elapsed()
    }
}
