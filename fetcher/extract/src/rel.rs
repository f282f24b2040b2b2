//! Link types: what a `rel` makes of a link.

use crate::link::LinkClass;

/// Types that name a page a reader can go to.
const PAGES: [&str; 24] = [
    "next",
    "prev",
    "previous",
    "start",
    "first",
    "last",
    "up",
    "top",
    "home",
    "contents",
    "toc",
    "index",
    "chapter",
    "section",
    "subsection",
    "appendix",
    "glossary",
    "help",
    "bookmark",
    "author",
    "license",
    "copyright",
    "tag",
    "archives",
];

/// Types that name a part of the page.
const EMBEDS: [&str; 10] = [
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "manifest",
    "preload",
    "modulepreload",
    "image_src",
    "fluid-icon",
];

/// Types that name a host to get ready for, and no resource.
const NO_RESOURCE: [&str; 2] = ["dns-prefetch", "preconnect"];

/// True if `rel` has the token `nofollow`.
pub(crate) fn is_nofollow(rel: &str) -> bool {
    has(rel, "nofollow")
}

/// The class of a `link` (element or field) with this `rel` and media type; none if it links nothing.
pub(crate) fn class(rel: &str, media_type: &str) -> Option<LinkClass> {
    let any = |types: &[&str]| types.iter().any(|name| has(rel, name));
    if any(&EMBEDS) {
        // Before "alternate": an alternate style sheet is a style sheet.
        Some(LinkClass::Embed)
    } else if has(rel, "canonical") {
        Some(LinkClass::Canonical)
    } else if any(&["alternate", "amphtml"]) {
        Some(LinkClass::Alternate)
    } else if any(&PAGES)
        || has(rel, "search")
            && !media_type
                .trim()
                .to_ascii_lowercase()
                .contains("opensearch")
    {
        Some(LinkClass::Page)
    } else if any(&NO_RESOURCE) {
        None
    } else {
        Some(LinkClass::Other)
    }
}

/// Tokens are apart by white space and compared without case.
fn has(rel: &str, name: &str) -> bool {
    rel.split_ascii_whitespace()
        .any(|token| token.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        for (rel, expected) in [
            ("next", Some(LinkClass::Page)),
            ("START", Some(LinkClass::Page)),
            ("canonical", Some(LinkClass::Canonical)),
            ("alternate", Some(LinkClass::Alternate)),
            ("alternate stylesheet", Some(LinkClass::Embed)),
            ("shortcut icon", Some(LinkClass::Embed)),
            ("preconnect", None),
            ("pingback", Some(LinkClass::Other)),
            ("", Some(LinkClass::Other)),
            ("search", Some(LinkClass::Page)),
            ("nextone", Some(LinkClass::Other)),
        ] {
            assert_eq!(class(rel, ""), expected, "{rel:?}");
        }
        assert_eq!(
            class("search", "application/opensearchdescription+xml"),
            Some(LinkClass::Other)
        );
    }
}
