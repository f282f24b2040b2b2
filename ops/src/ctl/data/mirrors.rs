//! Hosts that share most of their payloads.

use super::groups::Group;
use std::collections::BTreeMap;
use urlkey::CanonicalUrl;

/// Pairs of hosts that are counted at once.
const PAIRS: usize = 200_000;
/// Hosts of one payload that are paired: a payload that is everywhere (an empty page, a parking page) says little of any two.
const PAIRED_HOSTS: usize = 8;

/// Two hosts that share payloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mirror {
    /// In order.
    pub(super) hosts: (String, String),
    /// Payloads that both have.
    pub(super) shared: u64,
    /// Stored pages of each.
    pub(super) pages: (u64, u64),
}

/// Pairs of hosts by what they share.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    shared: BTreeMap<(String, String), u64>,
    pages: BTreeMap<String, u64>,
    /// Pairs that were not counted, for there were too many.
    pub(super) passed_over: u64,
}

impl Pairs {
    /// Of groups of URLs with the same payload; pairs that share fewer than `least` are left out.
    pub(super) fn of<'a>(groups: impl IntoIterator<Item = &'a Group>, least: u64) -> Self {
        let mut pairs = Self::default();
        for group in groups {
            pairs.add(group);
        }
        pairs.shared.retain(|_, shared| *shared >= least);
        let names = pairs.shared.keys().flat_map(|(a, b)| [a, b]);
        pairs.pages = names.map(|name| (name.clone(), 0)).collect();
        pairs
    }

    fn add(&mut self, group: &Group) {
        let mut hosts: Vec<&str> = group.urls.iter().filter_map(|url| host_of(url)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.truncate(PAIRED_HOSTS);
        for (at, first) in hosts.iter().enumerate() {
            for second in &hosts[at + 1..] {
                let pair = ((*first).to_owned(), (*second).to_owned());
                if self.shared.len() >= PAIRS && !self.shared.contains_key(&pair) {
                    self.passed_over += 1;
                    continue;
                }
                *self.shared.entry(pair).or_default() += 1;
            }
        }
    }

    /// Whether there is anything to count pages for.
    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// Counts a stored page of a host that is in a pair.
    pub(super) fn count_page(&mut self, url: &str) {
        if let Some(pages) = host_of(url).and_then(|host| self.pages.get_mut(host)) {
            *pages += 1;
        }
    }

    /// Those that share more than half of what the smaller one has, most shared first.
    pub(super) fn mirrors(self) -> Vec<Mirror> {
        let pages = |host: &str| self.pages.get(host).copied().unwrap_or(0);
        let all = self.shared.iter().map(|((a, b), shared)| Mirror {
            hosts: (a.clone(), b.clone()),
            shared: *shared,
            pages: (pages(a), pages(b)),
        });
        let most = |mirror: &Mirror| 2 * mirror.shared > mirror.pages.0.min(mirror.pages.1);
        let mut mirrors: Vec<_> = all.filter(most).collect();
        mirrors.sort_by_key(|mirror| std::cmp::Reverse(mirror.shared));
        mirrors
    }
}

/// The host of a canonical URL, borrowed from it.
fn host_of(url: &str) -> Option<&str> {
    let parsed = CanonicalUrl::verify(url, urlkey::limits::HARD_MAX_URL_BYTES).ok()?;
    let at = url.find(parsed.host())?;
    url.get(at..at + parsed.host().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(urls: &[&str]) -> Group {
        Group {
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            ..Group::default()
        }
    }

    #[test]
    fn hosts_that_share_most_are_mirrors_and_those_that_share_little_are_not() {
        let mut groups = Vec::new();
        let mut pages = Vec::new();
        for n in 0..4 {
            let [a, b] = ["a", "b"].map(|host| format!("http://{host}.example:81/{n}"));
            groups.push(group(&[&a, &b]));
            pages.extend([a, b]);
        }
        let big: Vec<String> = (0..20).map(|n| format!("http://c.example/{n}")).collect();
        let other: Vec<String> = (0..20).map(|n| format!("http://d.example/{n}")).collect();
        groups.push(group(&[&big[0], &other[0]]));
        groups.push(group(&[&big[1], &other[1]]));
        groups.push(group(&["http://a.example/x", "http://a.example/y"]));
        let mut pairs = Pairs::of(&groups, 2);
        assert!(!pairs.is_empty());
        for page in pages.iter().chain(&big).chain(&other) {
            pairs.count_page(page);
        }
        let mirrors = pairs.mirrors();
        let expected = Mirror {
            hosts: ("a.example".to_owned(), "b.example".to_owned()),
            shared: 4,
            pages: (4, 4),
        };
        assert_eq!(mirrors, [expected]);
        assert!(Pairs::of(&groups, 5).is_empty());
    }
}
