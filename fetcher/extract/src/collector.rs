//! The links of a page as they come: resolved, without repeats, counted, capped.

use std::collections::BTreeMap;

use encoding_rs::Encoding;
use urlkey::{CanonicalUrl, UrlError};

use crate::extracted::Dropped;
use crate::limits::{MAX_WAITING_BYTES, MAX_WAITING_REFERENCES};
use crate::link::{Link, LinkClass};
use crate::resolve::Resolver;

/// A reference that waits for the base.
#[derive(Debug)]
struct Waiting {
    text: String,
    class: LinkClass,
    nofollow: bool,
}

/// Collects the links of one page.
#[derive(Debug)]
pub(crate) struct Collector {
    resolver: Resolver,
    max_links: usize,
    /// No `base` was seen yet. References wait for one, for it rules those before it as well.
    base_open: bool,
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
    links: Vec<Link>,
    /// Place of each URL in `links`; only looked up, never walked.
    places: BTreeMap<CanonicalUrl, usize>,
    page_links: usize,
    canonical: Option<CanonicalUrl>,
    dropped: Dropped,
}

/// What a collector ends with.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) links: Vec<Link>,
    pub(crate) canonical: Option<CanonicalUrl>,
    pub(crate) base: String,
    pub(crate) dropped: Dropped,
}

impl Collector {
    pub(crate) fn new(resolver: Resolver, max_links: usize) -> Self {
        Self {
            resolver,
            max_links,
            base_open: true,
            waiting: Vec::new(),
            waiting_bytes: 0,
            links: Vec::new(),
            places: BTreeMap::new(),
            page_links: 0,
            canonical: None,
            dropped: Dropped::default(),
        }
    }

    pub(crate) fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.resolver.set_encoding(encoding);
    }

    /// A `base` with an `href`; only the first counts, usable or not.
    pub(crate) fn set_base(&mut self, href: &str) {
        if self.base_open {
            self.resolver.set_base(href);
            self.settle_base();
        }
    }

    /// A reference found in the body.
    pub(crate) fn add(&mut self, text: &str, class: LinkClass, nofollow: bool) {
        if !self.base_open {
            self.resolve(text, class, nofollow);
            return;
        }
        self.waiting_bytes += text.len();
        self.waiting.push(Waiting {
            text: text.to_owned(),
            class,
            nofollow,
        });
        if self.waiting.len() >= MAX_WAITING_REFERENCES || self.waiting_bytes >= MAX_WAITING_BYTES {
            self.settle_base();
        }
    }

    /// A reference of the response's fields, which no `base` rules.
    pub(crate) fn add_of_response(&mut self, text: &str, class: LinkClass) {
        self.resolve(text, class, false);
    }

    /// A reference in an attribute longer than the limit.
    pub(crate) fn drop_long_attribute(&mut self) {
        self.dropped.long_attribute += 1;
    }

    pub(crate) fn finish(mut self) -> Collected {
        self.settle_base();
        Collected {
            base: self.resolver.base().to_owned(),
            links: self.links,
            canonical: self.canonical,
            dropped: self.dropped,
        }
    }

    fn settle_base(&mut self) {
        self.base_open = false;
        for waiting in std::mem::take(&mut self.waiting) {
            self.resolve(&waiting.text, waiting.class, waiting.nofollow);
        }
    }

    fn resolve(&mut self, text: &str, class: LinkClass, nofollow: bool) {
        match self.resolver.resolve(text) {
            Ok(url) => self.insert(url, class, nofollow),
            Err(UrlError::TooLong { .. }) => self.dropped.long_url += 1,
            Err(UrlError::UnsupportedScheme) => self.dropped.scheme += 1,
            Err(_) => self.dropped.invalid += 1,
        }
    }

    fn insert(&mut self, url: CanonicalUrl, class: LinkClass, nofollow: bool) {
        if class == LinkClass::Canonical && self.canonical.is_none() {
            self.canonical = Some(url.clone());
        }
        let is_page = class == LinkClass::Page;
        let full = if is_page {
            self.page_links
        } else {
            self.links.len() - self.page_links
        } >= self.max_links;
        let Some(link) = self
            .places
            .get(&url)
            .and_then(|place| self.links.get_mut(*place))
        else {
            if full {
                self.dropped.over_limit += 1;
                return;
            }
            self.page_links += usize::from(is_page);
            self.places.insert(url.clone(), self.links.len());
            self.links.push(Link {
                url,
                class,
                nofollow,
            });
            return;
        };
        if class == link.class {
            link.nofollow &= nofollow;
        } else if class < link.class {
            if is_page && full {
                self.dropped.over_limit += 1;
                return;
            }
            self.page_links += usize::from(is_page);
            link.class = class;
            link.nofollow = nofollow;
        }
    }
}
