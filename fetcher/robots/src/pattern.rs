//! A rule's path pattern, compiled: literals with a gap of any length between them (RFC 9309 section 2.2.3).
//!
//! `*` stands for any octets, `$` at the very end for the end of the path; without it a pattern needs to match only a start.
//! Literals are taken leftmost-first, which is right because what follows a `*` can only gain from more room. Each search
//! is Knuth-Morris-Pratt, so a match costs at most about twice the octets of path and pattern together, whatever they are.

use crate::octets::{Octet, octets};

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// What the path must start with.
    head: Box<[u8]>,
    /// What must follow, in this order, each after a gap. An empty one is there only as the last.
    rest: Box<[Literal]>,
    /// The last literal must end the path.
    anchored: bool,
    /// Octets of the pattern in normal form, `*` and `$` included: its weight in the longest match.
    weight: u32,
}

/// Octets to be found, with their Knuth-Morris-Pratt table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    octets: Box<[u8]>,
    /// `borders[i]`: length of the longest proper border of `octets[..=i]`. A line is short enough for `u16`.
    borders: Box<[u16]>,
}

impl Pattern {
    /// Compiles the value of a rule. None if it can match no path: empty, or starting with neither `/` nor `*`.
    pub(crate) fn compile(value: &[u8]) -> Option<Self> {
        let anchored = value.last() == Some(&b'$');
        let body = if anchored {
            &value[..value.len() - 1]
        } else {
            value
        };
        let mut weight = u32::from(anchored);
        let mut literals = vec![Vec::new()];
        for octet in octets(body) {
            weight = weight.saturating_add(octet.weight());
            if octet == Octet::Raw(b'*') {
                literals.push(Vec::new());
            } else if let Some(last) = literals.last_mut() {
                octet.write(last);
            }
        }
        let mut literals = literals.into_iter();
        let head = literals.next()?;
        let mut rest: Vec<Vec<u8>> = literals.collect();
        // Gaps side by side are one gap; only the literal that ends the pattern may be empty.
        let last = rest.pop();
        rest.retain(|literal| !literal.is_empty());
        rest.extend(last);
        if !(head.first() == Some(&b'/') || head.is_empty() && !rest.is_empty()) {
            return None;
        }
        let rest = rest.into_iter().map(Literal::new).collect();
        Some(Self {
            head: head.into(),
            rest,
            anchored,
            weight,
        })
    }

    /// Weight in the longest match, in octets.
    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    /// True if the pattern matches `path`, given in normal form.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.matches_counted(path, &mut 0)
    }

    /// [`Self::matches`], adding each octet looked at to `steps`.
    pub(crate) fn matches_counted(&self, path: &[u8], steps: &mut usize) -> bool {
        *steps += self.head.len();
        let Some(mut remaining) = path.strip_prefix(&*self.head) else {
            return false;
        };
        let Some((last, middle)) = self.rest.split_last() else {
            return !self.anchored || remaining.is_empty();
        };
        for literal in middle {
            let Some(end) = literal.find_end(remaining, steps) else {
                return false;
            };
            remaining = &remaining[end..];
        }
        if self.anchored {
            *steps += last.octets.len();
            remaining.ends_with(&last.octets)
        } else {
            last.find_end(remaining, steps).is_some()
        }
    }
}

impl Literal {
    fn new(octets: Vec<u8>) -> Self {
        let mut borders = vec![0u16; octets.len()];
        let mut border = 0usize;
        for i in 1..octets.len() {
            while border > 0 && octets[i] != octets[border] {
                border = usize::from(borders[border - 1]);
            }
            if octets[i] == octets[border] {
                border += 1;
            }
            borders[i] = u16::try_from(border).unwrap_or(u16::MAX);
        }
        Self {
            octets: octets.into(),
            borders: borders.into(),
        }
    }

    /// Where the leftmost occurrence in `text` ends.
    fn find_end(&self, text: &[u8], steps: &mut usize) -> Option<usize> {
        if self.octets.is_empty() {
            return Some(0);
        }
        let mut matched = 0usize;
        for (at, octet) in text.iter().enumerate() {
            *steps += 1;
            while matched > 0 && self.octets[matched] != *octet {
                *steps += 1;
                matched = usize::from(self.borders[matched - 1]);
            }
            if self.octets[matched] == *octet {
                matched += 1;
            }
            if matched == self.octets.len() {
                return Some(at + 1);
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::octets::normal_form;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::compile(pattern.as_bytes())
            .is_some_and(|p| p.matches(&normal_form(path.as_bytes())))
    }

    #[test]
    fn gaps_and_anchors() {
        assert!(matches("/a*c", "/abbbc/d"));
        assert!(matches("/a*c$", "/a-c-c"));
        assert!(!matches("/a*c$", "/a-c-"));
        assert!(matches("/a**c", "/ac"));
        assert!(matches("*", "/"));
        assert!(matches("*$", "/x"));
        assert!(matches("/*$", "/"));
        assert!(
            !matches("/ab*ba$", "/aba"),
            "a gap never overlaps its neighbours"
        );
        assert!(matches("/*aab", "/aaaab"));
    }

    #[test]
    fn what_can_never_match_is_not_compiled() {
        for value in ["", "$", "x", "x/*", "%2F", "?q"] {
            assert_eq!(Pattern::compile(value.as_bytes()), None, "{value:?}");
        }
    }

    #[test]
    fn weight_counts_the_normal_form() {
        let weight = |value: &str| Pattern::compile(value.as_bytes()).map(|p| p.weight());
        assert_eq!(weight("/abc"), Some(4));
        assert_eq!(weight("/%61bc*$"), Some(6));
        assert_eq!(weight("/\u{e9}"), Some(7));
        assert_eq!(weight("/**"), Some(3));
        assert_eq!(weight("/%2A"), Some(4));
    }

    /// case D14: a hundred stars against two kilobytes, in a bounded number of steps.
    #[test]
    fn a_hundred_stars_cost_no_more_than_a_scan() {
        let pattern = format!("/{}b$", "*a".repeat(100));
        let path = format!("/{}", "a".repeat(2_048));
        let compiled = Pattern::compile(pattern.as_bytes()).unwrap();
        let mut steps = 0;
        assert!(!compiled.matches_counted(path.as_bytes(), &mut steps));
        assert!(steps <= 2 * (path.len() + pattern.len()), "{steps} steps");

        let nearly = format!("/*{}b", "a".repeat(1_000));
        let compiled = Pattern::compile(nearly.as_bytes()).unwrap();
        let mut steps = 0;
        assert!(!compiled.matches_counted(path.as_bytes(), &mut steps));
        assert!(steps <= 2 * (path.len() + nearly.len()), "{steps} steps");
    }
}
