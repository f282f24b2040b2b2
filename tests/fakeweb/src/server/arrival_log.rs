//! The arrival log: a buffer that a thread of its own writes to the file.
//!
//! It lives in the server's process, so whatever happens to a crawler loses no line.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::arrival::Arrival;
use crate::limits;
use crate::options::{FakeWebError, FakeWebOptions};

/// Collects arrivals.
#[derive(Debug)]
pub(crate) struct ArrivalLog {
    state: Mutex<State>,
    /// Held while writing, so that lines keep their order; never taken while `state` is held.
    file: Mutex<Option<File>>,
    keep: bool,
}

#[derive(Debug, Default)]
struct State {
    buffer: Vec<u8>,
    kept: Vec<Arrival>,
    total: u64,
    stopping: bool,
    error: Option<io::Error>,
}

impl ArrivalLog {
    /// Opens the log file, if one is asked for.
    pub(crate) fn open(options: &FakeWebOptions) -> Result<Self, FakeWebError> {
        let file = match &options.log {
            None => None,
            Some(path) => {
                let append = options.log_append;
                let opened = File::options()
                    .create(true)
                    .write(true)
                    .append(append)
                    .truncate(!append)
                    .open(path);
                Some(opened.map_err(|source| FakeWebError::Log {
                    path: path.clone(),
                    source,
                })?)
            }
        };
        Ok(Self {
            state: Mutex::default(),
            file: Mutex::new(file),
            keep: options.keep_arrivals,
        })
    }

    /// Takes one arrival.
    pub(crate) fn push(&self, arrival: Arrival) {
        let mut state = lock(&self.state);
        state.total += 1;
        if let Err(error) = serde_json::to_writer(&mut state.buffer, &arrival) {
            state.error = Some(error.into());
        }
        state.buffer.push(b'\n');
        if self.keep && state.kept.len() < limits::MAX_KEPT_ARRIVALS {
            state.kept.push(arrival);
        }
        let full = state.buffer.len() > limits::LOG_BUFFER_BYTES;
        drop(state);
        if full {
            self.flush();
        }
    }

    /// Writes what waits.
    pub(crate) fn flush(&self) {
        let mut file = lock(&self.file);
        let lines = std::mem::take(&mut lock(&self.state).buffer);
        let Some(file) = file.as_mut() else { return };
        if let Err(error) = file.write_all(&lines) {
            lock(&self.state).error = Some(error);
        }
    }

    /// The arrivals kept in memory, in order of their answers.
    pub(crate) fn kept(&self) -> Vec<Arrival> {
        lock(&self.state).kept.clone()
    }

    /// Number of all arrivals.
    pub(crate) fn total(&self) -> u64 {
        lock(&self.state).total
    }

    /// The first thing that went wrong in writing since this was last asked.
    pub(crate) fn take_error(&self) -> Option<io::Error> {
        lock(&self.state).error.take()
    }

    /// Starts the thread that writes every [`limits::LOG_FLUSH_MS`] until [`Self::stop`].
    pub(crate) fn start_writer(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let log = Arc::clone(self);
        thread::Builder::new()
            .name("fakeweb-log".into())
            .spawn(move || {
                while !lock(&log.state).stopping {
                    thread::park_timeout(Duration::from_millis(limits::LOG_FLUSH_MS));
                    log.flush();
                }
                log.flush();
            })
    }

    /// Makes the writer end after what waits is written.
    pub(crate) fn stop(&self) {
        lock(&self.state).stopping = true;
    }
}

/// Every update leaves the data whole, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
