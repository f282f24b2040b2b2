//! The Public Suffix List: which part of a host name one owner has registered.
//!
//! Why not the `publicsuffix` crate: its walk never returns to a wildcard once it has taken a more exact label
//! that ends in no rule. The shipped list has such pairs (`*.customer-oci.com` beside `*.oci.customer-oci.com`:
//! `oci.customer-oci.com` is a suffix by the first, yet the crate answers `com`), and two sites for one name
//! would mean two owners.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::limits::MAX_SUFFIX_LIST_BYTES;
use crate::site::Site;
use crate::suffix_rule::{RuleError, RuleKinds, SuffixRule};

/// The list that is used until a cluster pins its own.
const SHIPPED: &str = include_str!("../data/public_suffix_list.dat");

/// Why a suffix list was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SuffixListError {
    /// No rule at all: most likely another file.
    #[error("the suffix list has no rule")]
    Empty,
    /// More text than any list has.
    #[error("the suffix list has {length_bytes} bytes, more than {MAX_SUFFIX_LIST_BYTES}")]
    TooLong {
        /// What it has, in bytes.
        length_bytes: usize,
    },
    /// A line that is no rule. The whole list is refused: a skipped rule would move sites without a word.
    #[error("line {line} of the suffix list: {reason}")]
    Rule {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: RuleError,
    },
}

/// A public suffix list, both sections. Part of a cluster's identity by its [digest](SuffixList::digest).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuffixList {
    /// The rules by their labels, in A-labels.
    rules: BTreeMap<String, RuleKinds>,
    /// The most labels in a rule: longer suffixes of a host need no look.
    max_labels: usize,
    digest: u64,
}

impl SuffixList {
    /// Reads a list in the format of publicsuffix.org: a rule a line, up to the first blank; `//` starts a comment.
    ///
    /// # Errors
    ///
    /// The first line that is no rule, or that there is none.
    pub fn parse(text: &str) -> Result<Self, SuffixListError> {
        if text.len() > MAX_SUFFIX_LIST_BYTES {
            return Err(SuffixListError::TooLong {
                length_bytes: text.len(),
            });
        }
        let (list, first_error) = Self::read(text);
        match first_error {
            Some(error) => Err(error),
            None if list.rules.is_empty() => Err(SuffixListError::Empty),
            None => Ok(list),
        }
    }

    /// The list in this crate, read once. A test holds that it has no bad line.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        static LIST: OnceLock<Arc<SuffixList>> = OnceLock::new();
        Arc::clone(LIST.get_or_init(|| Arc::new(Self::read(SHIPPED).0)))
    }

    /// The text of the list in this crate, for a new cluster to pin.
    #[must_use]
    pub fn shipped_text() -> &'static str {
        SHIPPED
    }

    /// XXH3-64 of the text.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The site of a canonical host (see [`CanonicalUrl::host`](crate::CanonicalUrl::host)).
    #[must_use]
    pub fn site(&self, host: &str) -> Site {
        Site::new(&host[self.site_start(host)..])
    }

    /// Reads what can be read, and says which line could not.
    fn read(text: &str) -> (Self, Option<SuffixListError>) {
        let mut list = Self {
            rules: BTreeMap::new(),
            max_labels: 0,
            digest: xxh3_64(text.as_bytes()),
        };
        let mut first_error = None;
        for (index, line) in text.lines().enumerate() {
            let Some(rule) = line
                .split_whitespace()
                .next()
                .filter(|rule| !rule.starts_with("//"))
            else {
                continue;
            };
            match SuffixRule::parse(rule) {
                Ok(Some(rule)) => list.add(rule),
                Ok(None) => {}
                Err(reason) if first_error.is_none() => {
                    first_error = Some(SuffixListError::Rule {
                        line: index + 1,
                        reason,
                    })
                }
                Err(_) => {}
            }
        }
        (list, first_error)
    }

    fn add(&mut self, rule: SuffixRule) {
        self.max_labels = self.max_labels.max(rule.name.split('.').count());
        self.rules.entry(rule.name).or_default().insert(rule.kind);
    }

    /// Where the site starts in a host: one label before the public suffix, or at 0 where there is none.
    fn site_start(&self, host: &str) -> usize {
        if is_address(host) {
            return 0;
        }
        // Suffixes of the host by rising length. The last label is a suffix if no rule says more (the rule `*`).
        let mut starts = label_starts(host);
        let Some(mut suffix_start) = starts.next() else {
            return 0;
        };
        let mut exception_start = None;
        let mut is_under_wildcard = self.kinds(&host[suffix_start..]).wildcard;
        // One label more than the longest rule has, for a wildcard reaches one label further.
        for start in starts.take(self.max_labels) {
            let kinds = self.kinds(&host[start..]);
            if kinds.exception {
                exception_start = Some(start);
            }
            if is_under_wildcard || kinds.normal {
                suffix_start = start;
            }
            is_under_wildcard = kinds.wildcard;
        }
        // An exception prevails over any rule, the longest one over others. The suffix is then the exception
        // without its first label, so that the site is the exception's own name.
        if let Some(start) = exception_start {
            return start;
        }
        label_starts(&host[..suffix_start.saturating_sub(1)])
            .next()
            .unwrap_or(0)
    }

    /// The rules for exactly this name.
    fn kinds(&self, name: &str) -> RuleKinds {
        self.rules.get(name).copied().unwrap_or_default()
    }
}

/// Where the labels of a name start, from the last to the first; none for an empty name.
fn label_starts(name: &str) -> impl Iterator<Item = usize> {
    let mut end = if name.is_empty() {
        None
    } else {
        Some(name.len())
    };
    std::iter::from_fn(move || {
        let start = name[..end?].rfind('.').map_or(0, |dot| dot + 1);
        end = start.checked_sub(1);
        Some(start)
    })
}

/// Whether a canonical host is an IP literal.
fn is_address(host: &str) -> bool {
    host.starts_with('[')
        || (host.ends_with(|c: char| c.is_ascii_digit()) && host.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests;
