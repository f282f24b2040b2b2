//! Threads for work that blocks, so that it never runs on an async worker.
//!
//! A lane is one thread with a queue: work given to the same lane runs in order.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::oneshot;

thread_local! {
    /// Whether a panic of this thread ends the work in hand and nothing else.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of the calling thread would be caught and answered for: its work is a group's, which then stops by
/// itself and says why. For a panic hook that ends the process at any other.
pub fn panic_is_caught() -> bool {
    IS_CAUGHT.get()
}

/// Does the work; its panic as text.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, LaneError> {
    let before = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    result.map_err(|panic| LaneError::Panicked(panic_text(&*panic)))
}

type Job = Box<dyn FnOnce() + Send>;

/// The work did not end: it panicked, or the lanes are closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LaneError {
    #[error("panicked: {0}")]
    Panicked(String),
    #[error("storage threads are closed")]
    Closed,
}

/// A fixed set of lanes.
pub(crate) struct Lanes {
    /// Work is done by whoever gives it.
    inline: bool,
    queues: Mutex<Vec<mpsc::Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Lanes {
    /// Starts `count` threads.
    pub(crate) fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let mut queues = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for place in 0..count {
            let (queue, jobs) = mpsc::channel::<Job>();
            let builder = std::thread::Builder::new().name(format!("{name}-{place}"));
            threads.push(builder.spawn(move || jobs.into_iter().for_each(|job| job()))?);
            queues.push(queue);
        }
        Ok(Self {
            inline: false,
            queues: Mutex::new(queues),
            threads: Mutex::new(threads),
        })
    }

    /// Lanes without threads: work is done by whoever gives it.
    pub(crate) fn inline() -> Self {
        Self {
            inline: true,
            queues: Mutex::default(),
            threads: Mutex::default(),
        }
    }

    /// Runs `work` on the lane that `key` always gets, and waits for its result.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        key: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LaneError> {
        if self.inline {
            return caught(work);
        }
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move || {
            let _gone = sender.send(caught(work));
        });
        self.send(key, job)?;
        receiver.await.unwrap_or(Err(LaneError::Closed))
    }

    fn send(&self, key: u64, job: Job) -> Result<(), LaneError> {
        let queues = self.queues.lock();
        let count = queues.len().max(1) as u64;
        let queue = queues
            .get((key % count) as usize)
            .ok_or(LaneError::Closed)?;
        queue.send(job).map_err(|_| LaneError::Closed)
    }

    /// Lets queued work finish and ends the threads. Not to be called from a lane.
    pub(crate) fn close(&self) {
        self.queues.lock().clear();
        for thread in self.threads.lock().drain(..) {
            let _panicked = thread.join();
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_the_work_not_the_lane() {
        let lanes = Lanes::start("test", 1).unwrap();
        let failed: Result<(), LaneError> = lanes.run(7, || std::panic::panic_any("boom")).await;
        assert_eq!(failed, Err(LaneError::Panicked("boom".into())));
        assert_eq!(lanes.run(8, panic_is_caught).await, Ok(true));
        assert!(!panic_is_caught(), "only there");
        lanes.close();
        assert_eq!(lanes.run(8, || 5).await, Err(LaneError::Closed));
    }
}
