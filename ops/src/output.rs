//! Writing to stdout so that a closed pipe ends the program quietly, and the error every command returns.

use std::io::{self, Write};

/// Characters of what somebody gave that are shown.
const SHOWN_CHARS: usize = 200;

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
    program::say(text);
}

/// What somebody gave, in quotes: cut to [`SHOWN_CHARS`] characters, and without any that a terminal would obey.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    let (text, mut left) = (text.as_ref(), SHOWN_CHARS);
    let mut shown = String::from("\"");
    for chunk in text.utf8_chunks() {
        let cut = chunk.valid().char_indices().nth(left).map(|(at, _)| at);
        let valid = &chunk.valid()[..cut.unwrap_or(chunk.valid().len())];
        let bytes = &chunk.invalid()[..chunk.invalid().len().min(left - valid.chars().count())];
        left -= valid.chars().count() + bytes.len();
        shown.extend(valid.escape_debug());
        shown.extend(bytes.escape_ascii().map(char::from));
        if cut.is_some() || bytes.len() < chunk.invalid().len() {
            return format!("{shown}...\" ({} bytes)", text.len());
        }
    }
    shown + "\""
}

/// A reader that went away is no failure of ours.
fn written(error: io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    CommandError::io("cannot write to stdout", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_moves_no_cursor() {
        assert_eq!(quoted("http://b\u{fc}cher/"), "\"http://b\u{fc}cher/\"");
        assert_eq!(quoted("a\x1b[2J\u{202e}\r"), r#""a\u{1b}[2J\u{202e}\r""#);
        assert_eq!(quoted(b"\xff\xfe"), r#""\xff\xfe""#);
        let long = quoted("x".repeat(30_000_000));
        assert_eq!(long, format!("\"{}...\" (30000000 bytes)", "x".repeat(200)));
        assert_eq!(quoted("x".repeat(200)).len(), 202);
        let broken = quoted([0xff; 300]);
        assert!(broken.ends_with("\\xff...\" (300 bytes)"), "{broken}");
    }
}
