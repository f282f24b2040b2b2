//! Steps of the disk that are held back while a test looks.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use raftlog::testing::{LogSizes, copy_after_power_loss};
use raftlog::{DiskStep, FaultHook};

/// Holds flushes of the state, or its writes, while it is told so.
#[derive(Default)]
pub(in crate::tests) struct Held {
    pub(in crate::tests) flushes: AtomicBool,
    pub(in crate::tests) writes: AtomicBool,
}

impl FaultHook for Held {
    fn before(&self, step: DiskStep) -> io::Result<()> {
        let is_held = || match step {
            DiskStep::StateFlush => self.flushes.load(Ordering::SeqCst),
            DiskStep::StateWrite => self.writes.load(Ordering::SeqCst),
            _ => false,
        };
        while is_held() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// What the directory would be if the power went now: all of the log, and of the state what is flushed.
pub(in crate::tests) fn image(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
        }
    }
    let synced = LogSizes::read(from).unwrap();
    copy_after_power_loss(from, to.path(), &synced, 1000).unwrap();
    to
}
