//! One link of a page.

use urlkey::CanonicalUrl;

/// What a link is for, by its element and `rel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkClass {
    /// A page a reader can go to: `a`, `area`, frames, a refresh, `link` to next, prev, index and the like. The only class that
    /// travels to the frontier by default.
    Page,
    /// The preferred address of this page: a hint, not a hop.
    Canonical,
    /// The same content in another language, format or feed.
    Alternate,
    /// A part of this page: image, script, style sheet, media.
    Embed,
    /// Any other `link`.
    Other,
}

/// One link, canonical. A page has at most one per URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it goes.
    pub url: CanonicalUrl,
    /// The first of [`LinkClass`] in which the page uses it.
    pub class: LinkClass,
    /// Every use of it carries `rel=nofollow`. The page's own directive is in [`crate::Directives`].
    pub nofollow: bool,
}
