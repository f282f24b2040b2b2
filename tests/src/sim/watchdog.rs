//! Names a run that does not go on: something in it is busy without letting virtual time pass.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::trace::Trace;

/// Real time in which virtual time must have moved, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(90);

/// Watches one run from a thread of its own. Ends the whole test process when the run is stuck, since a thread that spins
/// cannot be ended alone. Decides nothing in a run that goes on.
pub(super) struct Watchdog {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches the run that writes this trace under this directory.
    pub(super) fn new(seed: u64, root: &Path, trace: &Arc<Trace>) -> Self {
        let (ended, end) = channel();
        let (root, trace) = (root.to_owned(), Arc::clone(trace));
        Self {
            ended: Some(ended),
            thread: Some(std::thread::spawn(move || watch(seed, root, &trace, &end))),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn watch(seed: u64, root: PathBuf, trace: &Trace, end: &Receiver<()>) {
    let mut seen_ms = None;
    while end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        let now_ms = trace.now_ms();
        if seen_ms.replace(now_ms) != Some(now_ms) {
            continue;
        }
        let last = trace.end().last.join("\n  ");
        eprintln!(
            "seed {seed} does not go on: still at {now_ms} ms of virtual time. Its last events:\n  {last}"
        );
        let _partly = std::fs::remove_dir_all(root);
        std::process::abort();
    }
}
