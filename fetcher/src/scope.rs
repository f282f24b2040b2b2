//! Which links belong to a crawl, and how its URLs are made canonical.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use urlkey::{CanonicalUrl, Canonicalizer, SuffixList};

/// Which URLs a crawl follows.
#[derive(Clone, Default)]
pub enum Scope {
    /// All.
    #[default]
    Any,
    /// Those on the host of the page that links to them.
    OwnHost,
    /// Those on these hosts.
    Hosts(BTreeSet<String>),
    /// Those on these sites (registrable domains).
    Sites(BTreeSet<String>),
    /// Whatever a function says.
    Custom(Arc<dyn Fn(&CanonicalUrl) -> bool + Send + Sync>),
}

impl Scope {
    /// The hosts of these seeds.
    pub fn hosts_of<'a>(seeds: impl IntoIterator<Item = &'a CanonicalUrl>) -> Self {
        Self::Hosts(seeds.into_iter().map(|url| url.host().to_owned()).collect())
    }

    /// The sites of these seeds.
    pub fn sites_of<'a>(
        seeds: impl IntoIterator<Item = &'a CanonicalUrl>,
        suffixes: &SuffixList,
    ) -> Self {
        Self::Sites(
            seeds
                .into_iter()
                .map(|url| suffixes.site(url.host()).as_str().to_owned())
                .collect(),
        )
    }

    /// Whether a URL found in a page belongs.
    #[must_use]
    pub fn contains(&self, page: &CanonicalUrl, url: &CanonicalUrl, suffixes: &SuffixList) -> bool {
        match self {
            Self::Any => true,
            Self::OwnHost => page.host() == url.host(),
            Self::Hosts(hosts) => hosts.contains(url.host()),
            Self::Sites(sites) => sites.contains(suffixes.site(url.host()).as_str()),
            Self::Custom(belongs) => belongs(url),
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::OwnHost => f.write_str("OwnHost"),
            Self::Hosts(hosts) => f.debug_tuple("Hosts").field(hosts).finish(),
            Self::Sites(sites) => f.debug_tuple("Sites").field(sites).finish(),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// What a crawl asks of its links.
#[derive(Debug, Clone, Default)]
pub struct CrawlRules {
    /// Which links it follows.
    pub scope: Scope,
    /// How it makes URLs canonical.
    pub canonicalizer: Canonicalizer,
}

/// The rules of all crawls.
#[derive(Debug, Clone)]
pub struct Crawls {
    /// The cluster's suffix list.
    pub suffixes: Arc<SuffixList>,
    /// By crawl.
    pub rules: BTreeMap<u32, CrawlRules>,
    /// For crawls without rules of their own.
    pub default: CrawlRules,
}

impl Crawls {
    /// Every crawl follows everything.
    #[must_use]
    pub fn any(suffixes: Arc<SuffixList>) -> Self {
        Self {
            suffixes,
            rules: BTreeMap::new(),
            default: CrawlRules::default(),
        }
    }

    /// The rules of one crawl.
    #[must_use]
    pub fn of(&self, crawl: u32) -> &CrawlRules {
        self.rules.get(&crawl).unwrap_or(&self.default)
    }

    /// Whether a crawl follows a URL that it found in a page.
    #[must_use]
    pub fn follows(&self, crawl: u32, page: &CanonicalUrl, url: &CanonicalUrl) -> bool {
        self.of(crawl).scope.contains(page, url, &self.suffixes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn scopes_grow_from_host_to_site_to_any() {
        let suffixes = SuffixList::shipped();
        let url = |text: &str| CanonicalUrl::verify(text, 2_048).unwrap();
        let seeds = [url("http://www.a.co.uk/x")];
        let inside = |scope: &Scope, text: &str| scope.contains(&seeds[0], &url(text), &suffixes);
        let hosts = Scope::hosts_of(&seeds);
        assert!(inside(&hosts, "https://www.a.co.uk:81/") && !inside(&hosts, "http://a.co.uk/"));
        let sites = Scope::sites_of(&seeds, &suffixes);
        assert!(inside(&sites, "http://b.a.co.uk/") && !inside(&sites, "http://b.co.uk/"));
        assert!(inside(&Scope::Any, "http://b.co.uk/"));
        assert!(inside(&Scope::OwnHost, "https://www.a.co.uk/y"));
        assert!(!inside(&Scope::OwnHost, "http://b.a.co.uk/"));
        let custom = Scope::Custom(Arc::new(|url| url.path_and_query().starts_with("/docs/")));
        assert!(inside(&custom, "http://x.org/docs/1") && !inside(&custom, "http://x.org/"));
    }
}
