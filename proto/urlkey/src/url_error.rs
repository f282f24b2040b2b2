//! Why a URL was refused.

use crate::host_name::HostError;

/// Why a URL was refused. Neither the variants nor their texts hold any part of the input, so that user
/// information and other secrets in a refused URL never reach a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Nothing is left after the blanks at both ends.
    #[error("the URL is empty")]
    Empty,
    /// Longer than the limit of the crawl (of the canonical form) or than any text that is looked at. A URL is
    /// never cut.
    #[error("the URL has {length_bytes} bytes, more than {max_bytes}")]
    TooLong {
        /// What it has, in bytes.
        length_bytes: usize,
        /// What it may have, in bytes.
        max_bytes: usize,
    },
    /// Neither http nor https.
    #[error("the scheme is neither http nor https")]
    UnsupportedScheme,
    /// A relative reference where a whole URL is needed.
    #[error("the URL is relative and has no base")]
    Relative,
    /// The host cannot be contacted under this name.
    #[error("the host is invalid: {0}")]
    InvalidHost(#[from] HostError),
    /// The port is not a number from 1 to 65 535.
    #[error("the port is not a number from 1 to 65535")]
    InvalidPort,
    /// Not a URL for another reason.
    #[error("the text is not a URL")]
    InvalidUrl,
    /// A good URL, but not in canonical form where only that is accepted.
    #[error("the URL is not in canonical form")]
    NotCanonical,
}

impl UrlError {
    /// A stable snake_case name of the reason, for metrics and replies.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong { .. } => "too_long",
            Self::UnsupportedScheme => "unsupported_scheme",
            Self::Relative => "relative",
            Self::InvalidHost(_) => "invalid_host",
            Self::InvalidPort => "invalid_port",
            Self::InvalidUrl => "invalid_url",
            Self::NotCanonical => "not_canonical",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_distinct_snake_case() {
        let all = [
            UrlError::Empty,
            UrlError::TooLong {
                length_bytes: 9,
                max_bytes: 8,
            },
            UrlError::UnsupportedScheme,
            UrlError::Relative,
            UrlError::InvalidHost(HostError::EmptyLabel),
            UrlError::InvalidPort,
            UrlError::InvalidUrl,
            UrlError::NotCanonical,
        ];
        let kinds: std::collections::BTreeSet<_> = all.iter().map(UrlError::kind).collect();
        assert_eq!(kinds.len(), all.len());
        assert!(
            kinds
                .iter()
                .all(|kind| kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        );
    }
}
