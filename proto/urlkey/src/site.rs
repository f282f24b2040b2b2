//! The unit of ownership.

use std::fmt;

/// The registrable domain of a host, private section of the suffix list included; an IP literal, a bare name and a name
/// that is itself a public suffix are their own site. ASCII; always the host itself or a suffix of it at a dot.
/// Made by [`SuffixList::site`](crate::SuffixList::site).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(String);

impl Site {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Site {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
