//! From text to canonical URL.

use std::borrow::Cow;
use std::collections::BTreeSet;

use url::{Host, ParseError, Url};

use crate::canonical_url::CanonicalUrl;
use crate::host_name::{HostError, check_domain, host_error};
use crate::limits::MAX_INPUT_BYTES;
use crate::options::{CanonicalOptions, OptionsError};
use crate::percent::push_normalized;
use crate::query::edit_query;
use crate::url_error::UrlError;

/// The version of the rules in this crate. Part of a cluster's identity: it changes with any change of what a text's
/// canonical form is.
pub const CANONICALIZER_VERSION: u32 = 1;

/// Brings URLs into canonical form, by the rules that all share and the options of one crawl:
///
/// - parse as WHATWG does: blanks at both ends and TAB, LF, CR anywhere vanish, `\` is a slash in the path, dot
///   segments (`%2e` as well) are resolved, hosts are decoded and become lower-case A-labels or addresses;
/// - http and https only; fragment and user information go, as does the scheme's own default port;
/// - one trailing dot of the host goes; empty or over-long labels, names that no resolver takes and port 0 are
///   refused;
/// - percent-encoding in one form: unreserved decoded, other hex upper-case, what may not stand encoded;
/// - path case, `//`, the query's order, an empty query (`?`) and a `%` that starts no triplet stay.
#[derive(Debug, Clone, Default)]
pub struct Canonicalizer {
    options: CanonicalOptions,
    drop_names: BTreeSet<Vec<u8>>,
}

impl Canonicalizer {
    /// With the options of a crawl.
    ///
    /// # Errors
    ///
    /// The option that is beyond its limit.
    pub fn new(options: CanonicalOptions) -> Result<Self, OptionsError> {
        options.check()?;
        let drop_names = options
            .drop_params
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Ok(Self {
            options,
            drop_names,
        })
    }

    /// The options in use.
    #[must_use]
    pub fn options(&self) -> &CanonicalOptions {
        &self.options
    }

    /// The canonical form of a whole URL.
    ///
    /// # Errors
    ///
    /// Why the text is refused.
    pub fn canonicalize(&self, input: &str) -> Result<CanonicalUrl, UrlError> {
        check_input_length(input)?;
        self.canonicalize_url(&parse_text(input)?)
    }

    /// Resolves a reference, relative or whole, against the URL of the page that holds it (RFC 3986 section 5.2
    /// as WHATWG does it) and canonicalises the result.
    ///
    /// # Errors
    ///
    /// Why the result is refused.
    pub fn join(&self, base: &CanonicalUrl, reference: &str) -> Result<CanonicalUrl, UrlError> {
        self.join_with_base_url(&base.to_url()?, reference)
    }

    /// As [`Canonicalizer::join`], against a parsed base, which need not be canonical: a page's links share one.
    ///
    /// # Errors
    ///
    /// Why the result is refused.
    pub fn join_with_base_url(
        &self,
        base: &Url,
        reference: &str,
    ) -> Result<CanonicalUrl, UrlError> {
        check_input_length(reference)?;
        let url = base
            .join(reference)
            .map_err(|error| refusal(error, reference))?;
        self.canonicalize_url(&url)
    }

    fn canonicalize_url(&self, url: &Url) -> Result<CanonicalUrl, UrlError> {
        let text = self.edit(canonical_text(url)?);
        let max_bytes = self.options.max_length_bytes;
        if text.len() > max_bytes {
            return Err(UrlError::TooLong {
                length_bytes: text.len(),
                max_bytes,
            });
        }
        Ok(CanonicalUrl::from_canonical(text))
    }

    /// Applies the crawl's options to a canonical text.
    fn edit(&self, text: String) -> String {
        if self.drop_names.is_empty() && !self.options.sort_query {
            return text;
        }
        let Some((rest, query)) = text.split_once('?') else {
            return text;
        };
        match edit_query(query, &self.drop_names, self.options.sort_query) {
            Some(query) => format!("{rest}?{query}"),
            None => rest.to_owned(),
        }
    }
}

fn check_input_length(input: &str) -> Result<(), UrlError> {
    if input.len() > MAX_INPUT_BYTES {
        return Err(UrlError::TooLong {
            length_bytes: input.len(),
            max_bytes: MAX_INPUT_BYTES,
        });
    }
    Ok(())
}

/// Parses a whole URL.
pub(crate) fn parse_text(input: &str) -> Result<Url, UrlError> {
    Url::parse(input).map_err(|error| refusal(error, input))
}

/// The canonical form of a parsed URL under the default options, but for the length.
pub(crate) fn canonical_text(url: &Url) -> Result<String, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::UnsupportedScheme);
    }
    let host: Cow<'_, str> = match url.host() {
        Some(Host::Domain(domain)) => check_domain(domain)?.into(),
        Some(address) => address.to_string().into(),
        None => return Err(HostError::Empty.into()),
    };
    let mut text = String::with_capacity(url.as_str().len());
    text.push_str(url.scheme());
    text.push_str("://");
    text.push_str(&host);
    match url.port() {
        Some(0) => return Err(UrlError::InvalidPort),
        Some(port) => {
            text.push(':');
            text.push_str(&port.to_string());
        }
        None => {}
    }
    push_normalized(&mut text, url.path());
    if let Some(query) = url.query() {
        text.push('?');
        push_normalized(&mut text, query);
    }
    Ok(text)
}

/// What the parser's error means here.
fn refusal(error: ParseError, input: &str) -> UrlError {
    if names_other_scheme(input) {
        return UrlError::UnsupportedScheme;
    }
    match error {
        ParseError::EmptyHost
        | ParseError::IdnaError
        | ParseError::InvalidIpv4Address
        | ParseError::InvalidIpv6Address
        | ParseError::InvalidDomainCharacter => UrlError::InvalidHost(host_error(error)),
        ParseError::InvalidPort => UrlError::InvalidPort,
        ParseError::RelativeUrlWithoutBase if input.bytes().all(|b| b <= b' ') => UrlError::Empty,
        ParseError::RelativeUrlWithoutBase | ParseError::RelativeUrlWithCannotBeABaseBase => {
            UrlError::Relative
        }
        _ => UrlError::InvalidUrl,
    }
}

/// Whether a text that does not parse starts with a scheme that is not ours, blanks aside.
fn names_other_scheme(input: &str) -> bool {
    let start = input.trim_start_matches(|c| c <= ' ');
    let Some((scheme, _)) = start.split_once(':') else {
        return false;
    };
    let scheme: String = scheme
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_scheme && !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests;
