//! A node's disk: syncs take a while, and a power loss takes what was not synced.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use raftlog::VirtualDisk;
use raftlog::testing::LogSizes;

use super::rng::Rng;

/// The disk of one life of a node.
pub(super) struct Disk {
    dir: PathBuf,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    /// How long a sync takes when nothing is wrong.
    usual_sync_ms: (u64, u64),
    sync_ms: (u64, u64),
    /// Something is written and not synced.
    is_syncing: bool,
    synced: LogSizes,
}

/// How long a sync of a slow disk takes.
const SLOW_SYNC_MS: (u64, u64) = (50, 900);

impl Disk {
    /// The disk under a directory; what is there is durable.
    pub(super) fn new(dir: &Path, usual_sync_ms: (u64, u64), rng: Rng) -> Self {
        Self {
            dir: dir.to_owned(),
            state: Mutex::new(State {
                rng,
                usual_sync_ms,
                sync_ms: usual_sync_ms,
                is_syncing: false,
                synced: LogSizes::read(dir).unwrap_or_default(),
            }),
        }
    }

    pub(super) fn set_slow(&self, is_slow: bool) {
        let mut state = self.state.lock().unwrap();
        state.sync_ms = if is_slow {
            SLOW_SYNC_MS
        } else {
            state.usual_sync_ms
        };
    }

    /// Whether a sync of the log is under way.
    pub(super) fn is_syncing(&self) -> bool {
        self.state.lock().unwrap().is_syncing
    }

    /// What the last finished sync covers.
    pub(super) fn synced(&self) -> LogSizes {
        self.state.lock().unwrap().synced.clone()
    }

    fn draw(&self) -> Duration {
        let mut state = self.state.lock().unwrap();
        let range = state.sync_ms;
        Duration::from_millis(state.rng.between(range))
    }
}

impl VirtualDisk for Disk {
    fn log_sync(&self) -> Duration {
        self.state.lock().unwrap().is_syncing = true;
        self.draw()
    }

    fn state_flush(&self) -> Duration {
        self.draw() * 4
    }

    fn log_synced(&self) {
        let sizes = LogSizes::read(&self.dir).unwrap();
        let mut state = self.state.lock().unwrap();
        state.synced = sizes;
        state.is_syncing = false;
    }
}
