//! A URL in canonical form.

use std::fmt;

use url::Url;

use crate::canonicalizer::{canonical_text, parse_text};
use crate::host_name::HostName;
use crate::limits::HARD_MAX_URL_BYTES;
use crate::url_error::UrlError;

/// A URL in canonical form: ASCII, `scheme://host[:port]/path[?query]`, scheme http or https, no user information, no
/// fragment, no default port, at most 8 192 bytes. It is its own serialisation by the WHATWG parser.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl(String);

impl CanonicalUrl {
    /// The check a node makes on receipt: takes what is already canonical and fits, refuses the rest. Knows no
    /// per-crawl option, since what those give is canonical as well.
    ///
    /// # Errors
    ///
    /// [`UrlError::NotCanonical`] for another spelling of a good URL, else what is wrong with it.
    pub fn verify(input: &str, max_length_bytes: usize) -> Result<Self, UrlError> {
        let max_bytes = max_length_bytes.min(HARD_MAX_URL_BYTES);
        // First, so that a long text costs nothing.
        if input.len() > max_bytes {
            return Err(UrlError::TooLong {
                length_bytes: input.len(),
                max_bytes,
            });
        }
        let canonical = canonical_text(&parse_text(input)?)?;
        if canonical == input {
            Ok(Self(canonical))
        } else {
            Err(UrlError::NotCanonical)
        }
    }

    /// Wraps what is known to be canonical.
    pub(crate) fn from_canonical(text: String) -> Self {
        Self(text)
    }

    /// The whole URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        if self.is_https() { "https" } else { "http" }
    }

    /// The host without its port: the key of the clock. An IPv6 address keeps its brackets, as in the URL, so that a
    /// host stands in an authority or a `Host` field as it is. 1 to 253 bytes.
    #[must_use]
    pub fn host(&self) -> &str {
        self.split_authority().0
    }

    /// The host as a type of its own.
    #[must_use]
    pub fn host_name(&self) -> HostName {
        HostName::from_canonical(self.host())
    }

    /// The port, if it is written, which is never the scheme's own default.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.split_authority()
            .1
            .and_then(|digits| digits.parse().ok())
    }

    /// The port to connect to.
    #[must_use]
    pub fn effective_port(&self) -> u16 {
        self.port()
            .unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// `host[:port]`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.0[self.authority_start()..self.path_start()]
    }

    /// `scheme://host[:port]`: what a robots file holds for (RFC 9309 section 2.3).
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.0[..self.path_start()]
    }

    /// `/path[?query]`: the target of a request. Never empty.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        &self.0[self.path_start()..]
    }

    /// The same as a parsed [`Url`], for resolving references against it or handing it to a client.
    ///
    /// # Errors
    ///
    /// None in practice: a canonical URL is one that the parser serialised.
    pub fn to_url(&self) -> Result<Url, UrlError> {
        parse_text(&self.0)
    }

    fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    fn authority_start(&self) -> usize {
        self.scheme().len() + "://".len()
    }

    /// Where the path starts: at the first slash behind the authority's start.
    fn path_start(&self) -> usize {
        let start = self.authority_start();
        self.0[start..]
            .find('/')
            .map_or(self.0.len(), |offset| start + offset)
    }

    /// Host and digits of the port. A colon inside brackets belongs to an IPv6 address.
    fn split_authority(&self) -> (&str, Option<&str>) {
        let authority = self.authority();
        match authority.rsplit_once(':') {
            Some((host, digits)) if !digits.ends_with(']') => (host, Some(digits)),
            _ => (authority, None),
        }
    }
}

impl AsRef<str> for CanonicalUrl {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<CanonicalUrl> for String {
    fn from(url: CanonicalUrl) -> Self {
        url.0
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn verified(text: &str) -> CanonicalUrl {
        CanonicalUrl::verify(text, 2_048).unwrap()
    }

    #[test]
    fn parts() {
        let url = verified("https://www.example.com:8443/a//b?c=d/e:f");
        assert_eq!(url.scheme(), "https");
        assert_eq!(url.host(), "www.example.com");
        assert_eq!(url.host_name().as_str(), "www.example.com");
        assert_eq!((url.port(), url.effective_port()), (Some(8_443), 8_443));
        assert_eq!(url.authority(), "www.example.com:8443");
        assert_eq!(url.origin(), "https://www.example.com:8443");
        assert_eq!(url.path_and_query(), "/a//b?c=d/e:f");
        assert_eq!(url.to_url().unwrap().as_str(), url.as_str());
    }

    #[test]
    fn parts_of_addresses_and_default_ports() {
        let url = verified("http://[2001:db8::1]/");
        assert_eq!(
            (url.host(), url.port(), url.effective_port()),
            ("[2001:db8::1]", None, 80)
        );
        assert_eq!(
            (url.authority(), url.path_and_query()),
            ("[2001:db8::1]", "/")
        );
        let url = verified("https://[::1]:80/x");
        assert_eq!(
            (url.host(), url.port(), url.effective_port()),
            ("[::1]", Some(80), 80)
        );
        let url = verified("https://192.0.2.4/");
        assert_eq!(
            (url.host(), url.port(), url.effective_port()),
            ("192.0.2.4", None, 443)
        );
    }

    #[test]
    fn verify_refuses_other_spellings_with_its_own_kind() {
        for other in [
            "http://EXAMPLE.com/",
            "http://example.com",
            "http://example.com./",
            "http://example.com:80/",
            "http://u@example.com/",
            "http://example.com/#f",
            "http://example.com/%7e",
            "http://example.com/%2f",
            "http://example.com/a/../b",
            "http://example.com/a b",
            "http://example.com/ ",
            "http://example.com/a|b",
            "http:\\\\example.com\\",
            "http://bücher.example/",
            "http://0x7f.1/",
        ] {
            assert_eq!(
                CanonicalUrl::verify(other, 2_048),
                Err(UrlError::NotCanonical),
                "{other}"
            );
        }
        assert_eq!(CanonicalUrl::verify("", 2_048), Err(UrlError::Empty));
        assert_eq!(
            CanonicalUrl::verify("ftp://example.com/", 2_048),
            Err(UrlError::UnsupportedScheme)
        );
        let long = format!("http://example.com/{}", "a".repeat(10));
        let error = UrlError::TooLong {
            length_bytes: long.len(),
            max_bytes: long.len() - 1,
        };
        assert_eq!(CanonicalUrl::verify(&long, long.len() - 1), Err(error));
        assert!(CanonicalUrl::verify(&long, long.len()).is_ok());
        let too_long = format!("http://example.com/{}", "a".repeat(8_192));
        assert_eq!(
            CanonicalUrl::verify(&too_long, usize::MAX)
                .unwrap_err()
                .kind(),
            "too_long"
        );
    }
}
