//! Writing to stdout so that a closed pipe ends the program quietly, and the error every command returns.

use std::io::{self, Write};

/// Why a command failed, in words for the person who ran it.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// It can be done, but not here: a right or a tool is missing.
    #[error("refused: {0}")]
    Refused(String),
    /// Anything else, already in words.
    #[error("{0}")]
    Message(String),
}

impl CommandError {
    /// An I/O error with what was being done.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            what: what.into(),
            source,
        }
    }

    /// Any displayable failure, with what was being done.
    pub fn of(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Message(format!("{what}: {error}"))
    }
}

/// Writes one line to stdout.
pub fn line(text: impl std::fmt::Display) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").map_err(written)
}

/// Writes bytes to stdout as they are.
pub fn bytes(data: &[u8]) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(data)
        .and_then(|()| out.flush())
        .map_err(written)
}

/// Writes one line to stderr. Nobody reading it is no reason to stop.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A reader that went away is no failure of ours.
fn written(error: io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    CommandError::io("cannot write to stdout", error)
}
