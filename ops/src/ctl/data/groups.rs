//! URLs by the payload that they share.

use std::collections::{BTreeMap, BTreeSet};

/// Payloads that are followed at once.
const GROUPS: usize = 200_000;
/// URLs of one payload that are kept; more are only counted.
const KEPT_URLS: usize = 16;

/// A payload and the URLs under which it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Of the payload.
    pub(super) size_bytes: u64,
    /// The first ones, in order.
    pub(super) urls: BTreeSet<String>,
    /// How many there are.
    pub(super) count: u64,
}

/// The payloads that may have several URLs.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_digest: BTreeMap<[u8; 32], Group>,
    /// Pages whose payload was not followed, for there were too many.
    pub(super) passed_over: u64,
}

impl Groups {
    /// Enters a page. A URL that changes while it is listed may come twice and counts once, as long as it is among those kept.
    pub(super) fn add(&mut self, digest: [u8; 32], url: &str, size_bytes: u64) {
        if self.by_digest.len() >= GROUPS && !self.by_digest.contains_key(&digest) {
            self.passed_over += 1;
            return;
        }
        let group = self.by_digest.entry(digest).or_default();
        group.size_bytes = size_bytes;
        if group.urls.contains(url) {
            return;
        }
        group.count += 1;
        if group.urls.len() < KEPT_URLS {
            group.urls.insert(url.to_owned());
        }
    }

    /// Those that have several, most URLs first.
    pub(super) fn repeated(self) -> Vec<([u8; 32], Group)> {
        let several = self.by_digest.into_iter().filter(|(_, g)| g.count > 1);
        let mut several: Vec<_> = several.collect();
        several.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        several
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_count_once_and_those_alone_are_left_out() {
        let mut groups = Groups::default();
        for url in [
            "http://a.example/",
            "http://b.example/",
            "http://a.example/",
        ] {
            groups.add([1; 32], url, 9);
        }
        groups.add([2; 32], "http://a.example/2", 9);
        for n in 0..40 {
            groups.add([3; 32], &format!("http://a.example/3{n}"), 9);
        }
        let several = groups.repeated();
        let counts: Vec<_> = several.iter().map(|(d, g)| (d[0], g.count)).collect();
        assert_eq!(counts, [(3, 40), (1, 2)]);
        assert_eq!(several[0].1.urls.len(), KEPT_URLS);
    }
}
