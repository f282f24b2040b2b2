//! From a reference on a page to a canonical URL.

use encoding_rs::{Encoding, UTF_8};
use url::Url;
use urlkey::{CanonicalUrl, Canonicalizer, UrlError};

/// Resolves references against one base.
#[derive(Debug)]
pub(crate) struct Resolver {
    canonicalizer: Canonicalizer,
    max_url_length: usize,
    document: CanonicalUrl,
    /// The base, parsed once for all references; none only if the document's own URL would not parse.
    base: Option<Url>,
    /// The document's encoding: queries are written in it (HTML standard, "encoding-parse a URL").
    encoding: &'static Encoding,
}

impl Resolver {
    pub(crate) fn new(
        canonicalizer: Canonicalizer,
        max_url_length: usize,
        document: CanonicalUrl,
    ) -> Self {
        let base = document.to_url().ok();
        Self {
            canonicalizer,
            max_url_length,
            document,
            base,
            encoding: UTF_8,
        }
    }

    pub(crate) fn set_encoding(&mut self, encoding: &'static Encoding) {
        // What cannot be written, as UTF-16, is written in UTF-8.
        self.encoding = encoding.output_encoding();
    }

    /// Takes `href`, resolved against the document, for the base, unless it is no http or https URL.
    pub(crate) fn set_base(&mut self, href: &str) {
        let Some(document) = &self.base else { return };
        if let Ok(base) = document.join(href)
            && matches!(base.scheme(), "http" | "https")
        {
            self.base = Some(base);
        }
    }

    /// What references are resolved against.
    pub(crate) fn base(&self) -> &str {
        self.base
            .as_ref()
            .map_or(self.document.as_str(), Url::as_str)
    }

    /// The canonical URL a reference means, or why there is none.
    pub(crate) fn resolve(&self, reference: &str) -> Result<CanonicalUrl, UrlError> {
        let url = match &self.base {
            Some(base) if self.encoding != UTF_8 && has_foreign_query(reference) => {
                let url = Url::options()
                    .base_url(Some(base))
                    .encoding_override(Some(&|query| self.encoding.encode(query).0))
                    .parse(reference)
                    .map_err(|_| UrlError::InvalidUrl)?;
                self.canonicalizer.canonicalize(url.as_str())?
            }
            Some(base) => self.canonicalizer.join_with_base_url(base, reference)?,
            None => self.canonicalizer.join(&self.document, reference)?,
        };
        let length_bytes = url.as_str().len();
        if length_bytes > self.max_url_length {
            return Err(UrlError::TooLong {
                length_bytes,
                max_bytes: self.max_url_length,
            });
        }
        Ok(url)
    }
}

/// True if the query holds what ASCII does not.
fn has_foreign_query(reference: &str) -> bool {
    let query = reference
        .split('#')
        .next()
        .and_then(|text| text.split_once('?'));
    query.is_some_and(|(_, query)| !query.is_ascii())
}
