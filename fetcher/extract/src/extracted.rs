//! What an extraction gives.

use urlkey::CanonicalUrl;

use crate::charset::Charset;
use crate::directives::Directives;
use crate::link::{Link, LinkClass};

/// The result for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// Links in document order, one per URL.
    pub links: Vec<Link>,
    /// The page's wishes, from its fields and its `meta` elements.
    pub directives: Directives,
    /// The first canonical address given: a hint. Whoever acts on it checks that it is of the same site, and never treats it
    /// as one more hop of a chain.
    pub canonical: Option<CanonicalUrl>,
    /// What references were resolved against; equals the response's URL unless the page has a usable `base`.
    pub base: String,
    /// The encoding, and how it was found; none if the body was not read as HTML.
    pub charset: Option<Charset>,
    /// References that became no link, by reason.
    pub links_dropped: Dropped,
    /// The body was cut, or a cap on links was reached: links may be missing.
    pub truncated: bool,
    /// The body is not HTML although its type says so, or reading it failed.
    pub parse_failed: bool,
}

impl Extracted {
    /// The links that travel to the frontier: class `Page`, held back neither by the page nor by their own `rel`.
    pub fn to_follow(&self) -> impl Iterator<Item = &Link> {
        let held_back = self.directives.nofollow;
        self.links
            .iter()
            .filter(move |link| link.class == LinkClass::Page && !link.nofollow && !held_back)
    }
}

/// References that became no link, by reason. Repeats of a link are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// The attribute was longer than the limit.
    pub long_attribute: usize,
    /// The canonical URL was longer than the limit.
    pub long_url: usize,
    /// Not http or https.
    pub scheme: usize,
    /// Not a URL, or of a host nobody can reach.
    pub invalid: usize,
    /// The cap on links was reached.
    pub over_limit: usize,
}

impl Dropped {
    /// All together.
    #[must_use]
    pub fn total(&self) -> usize {
        self.long_attribute + self.long_url + self.scheme + self.invalid + self.over_limit
    }
}
