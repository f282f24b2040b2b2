//! Shorthands for the tests of this crate.

use urlkey::{CanonicalUrl, Canonicalizer};

use crate::{ExtractOptions, Extracted, Extractor, LinkClass, ResponseInfo};

pub(crate) fn url(text: &str) -> CanonicalUrl {
    Canonicalizer::default().canonicalize(text).expect("a URL")
}

pub(crate) fn extract_with(
    options: ExtractOptions,
    response: ResponseInfo,
    body: &[u8],
) -> Extracted {
    let mut extractor = Extractor::new(options, response);
    extractor.push(body);
    extractor.finish()
}

/// The page at `at`, as `text/html`.
pub(crate) fn extract(at: &str, body: impl AsRef<[u8]>) -> Extracted {
    extract_with(
        ExtractOptions::new("mybot"),
        ResponseInfo::html(url(at)),
        body.as_ref(),
    )
}

/// Its links, whatever their class.
pub(crate) fn links(at: &str, body: impl AsRef<[u8]>) -> Vec<String> {
    extract(at, body)
        .links
        .into_iter()
        .map(|link| link.url.into())
        .collect()
}

/// Its links of one class.
pub(crate) fn links_of(class: LinkClass, at: &str, body: impl AsRef<[u8]>) -> Vec<String> {
    let links = extract(at, body).links.into_iter();
    links
        .filter(|link| link.class == class)
        .map(|link| link.url.into())
        .collect()
}
