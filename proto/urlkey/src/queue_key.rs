//! The label of a queue within a crawl.

use std::fmt;

use crate::host_name::HostName;
use crate::limits::MAX_QUEUE_KEY_BYTES;

/// Why a queue key was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueKeyError {
    /// No byte at all.
    #[error("the queue key is empty")]
    Empty,
    /// More than 255 bytes.
    #[error("the queue key has {length_bytes} bytes, more than {MAX_QUEUE_KEY_BYTES}")]
    TooLong {
        /// What it has, in bytes.
        length_bytes: usize,
    },
    /// A control character (C0, DEL or C1).
    #[error("the queue key has a control character")]
    Control,
}

/// The label of a queue: the host by default, or any text that a client chooses: 1 to 255 bytes, no control
/// characters. Taken byte for byte: nothing is trimmed, folded or cut, so two texts are never one key.
/// Ownership and clock follow the URL's host whatever the label says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey(String);

impl QueueKey {
    /// Takes a label.
    ///
    /// # Errors
    ///
    /// See [`QueueKeyError`].
    pub fn parse(input: &str) -> Result<Self, QueueKeyError> {
        if input.is_empty() {
            return Err(QueueKeyError::Empty);
        }
        if input.len() > MAX_QUEUE_KEY_BYTES {
            return Err(QueueKeyError::TooLong {
                length_bytes: input.len(),
            });
        }
        if input.chars().any(char::is_control) {
            return Err(QueueKeyError::Control);
        }
        Ok(Self(input.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&HostName> for QueueKey {
    /// The default label. A host name keeps both limits of a queue key by construction.
    fn from(host: &HostName) -> Self {
        Self(host.as_str().to_owned())
    }
}

impl AsRef<str> for QueueKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn keeps_every_byte_and_refuses_controls() {
        for key in [
            "foo.example",
            "foo",
            "FOO",
            " foo",
            "foo ",
            "f.o.o",
            "ключ",
            "a/b?c",
        ] {
            assert_eq!(QueueKey::parse(key).unwrap().as_str(), key);
        }
        assert_eq!(QueueKey::parse(""), Err(QueueKeyError::Empty));
        for key in ["a\0", "a\tb", "\n", "a\u{7f}", "a\u{85}"] {
            assert_eq!(QueueKey::parse(key), Err(QueueKeyError::Control), "{key:?}");
        }
    }

    #[test]
    fn is_bounded() {
        // case C22
        assert!(QueueKey::parse(&"k".repeat(255)).is_ok());
        assert_eq!(
            QueueKey::parse(&"k".repeat(10_000)),
            Err(QueueKeyError::TooLong {
                length_bytes: 10_000
            })
        );
    }
}
