//! Writing to stderr without ever failing: it may be closed, full, or a pipe whose reader went away, and what a program does
//! matters more than what it says.

use std::fmt::Display;
use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

/// A line on stderr. Nobody reading it is no reason to stop.
pub fn say(line: impl Display) {
    // One piece: lines of threads do not mix.
    let _ = io::stderr()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
}

/// Stderr for a subscriber. It never gives an error back: the subscriber would write that to stderr, and end its thread when
/// this fails as well.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Stderr {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}
