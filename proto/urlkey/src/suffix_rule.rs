//! One line of a suffix list.

use url::Host;

use crate::host_name::check_domain;

/// What a rule says of the names that end in its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleKind {
    /// `co.uk`: the name is a suffix.
    Normal,
    /// `*.ck`: every name one label longer is a suffix.
    Wildcard,
    /// `!www.ck`: the name is no suffix, against the wildcard above it.
    Exception,
}

/// Which rules a list has for one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RuleKinds {
    pub(crate) normal: bool,
    pub(crate) wildcard: bool,
    pub(crate) exception: bool,
}

impl RuleKinds {
    pub(crate) fn insert(&mut self, kind: RuleKind) {
        match kind {
            RuleKind::Normal => self.normal = true,
            RuleKind::Wildcard => self.wildcard = true,
            RuleKind::Exception => self.exception = true,
        }
    }
}

/// Why a rule of a suffix list was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Its labels are not a domain name.
    #[error("it is not a domain name")]
    NotADomain,
    /// A `*` elsewhere than as the whole first label.
    #[error("a wildcard may stand only as the whole first label")]
    Wildcard,
    /// An exception without a label above it to fall back to.
    #[error("an exception needs two labels")]
    Exception,
}

/// A rule: its kind and its labels without `*.` or `!`, as A-labels.
pub(crate) struct SuffixRule {
    pub(crate) kind: RuleKind,
    pub(crate) name: String,
}

impl SuffixRule {
    /// Reads what a line holds up to its first blank. `None` for the rule `*`, which holds for every list anyway.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, RuleError> {
        if text == "*" {
            return Ok(None);
        }
        let (kind, labels) = if let Some(labels) = text.strip_prefix('!') {
            (RuleKind::Exception, labels)
        } else if let Some(labels) = text.strip_prefix("*.") {
            (RuleKind::Wildcard, labels)
        } else {
            (RuleKind::Normal, text)
        };
        if labels.contains('*') {
            return Err(RuleError::Wildcard);
        }
        // The same conversion that hosts go through, so that both sides compare A-labels.
        let name = match Host::parse(labels) {
            // A trailing dot is no part of a rule.
            Ok(Host::Domain(name)) if check_domain(&name) == Ok(&name) => name,
            _ => return Err(RuleError::NotADomain),
        };
        if kind == RuleKind::Exception && !name.contains('.') {
            return Err(RuleError::Exception);
        }
        Ok(Some(Self { kind, name }))
    }
}
