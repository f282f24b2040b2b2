//! One `Allow` or `Disallow` line.

use std::cmp::Reverse;

use crate::pattern::Pattern;

/// A rule of the group that speaks to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) allow: bool,
    pub(crate) pattern: Pattern,
    /// The line's value as written (lossy where it is not UTF-8), for reports.
    value: Box<str>,
}

impl Rule {
    /// None for a value that can match no path, the empty one included.
    pub(crate) fn new(allow: bool, value: &[u8]) -> Option<Self> {
        let pattern = Pattern::compile(value)?;
        Some(Self {
            allow,
            pattern,
            value: String::from_utf8_lossy(value).into(),
        })
    }

    /// Sorts the rule that decides before those it overrules: most octets first, `Allow` before `Disallow` (section 2.2.2).
    pub(crate) fn precedence(&self) -> impl Ord + use<> {
        (Reverse(self.pattern.weight()), Reverse(self.allow))
    }

    /// The rule as a line.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}: {}",
            if self.allow { "Allow" } else { "Disallow" },
            self.value
        )
    }
}
