//! Redirects: which answers are some, and where they lead. They are never followed here: a target is a candidate like any
//! other, with its own host's robots and clock (case A5).

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION, SET_COOKIE};
use urlkey::{CanonicalUrl, Canonicalizer, UrlError};

use crate::limits::MAX_LOCATION_BYTES;

/// Why a redirect leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// No `Location`, or an empty one.
    #[error("no Location")]
    NoLocation,
    /// Several that differ.
    #[error("several Location fields that differ")]
    Ambiguous,
    /// Not a URL we could fetch.
    #[error("the Location is refused: {0}")]
    Url(#[from] UrlError),
    /// To itself.
    #[error("redirects to itself")]
    Loop,
    /// To itself with a cookie: it wants the cookie back, and we keep none.
    #[error("redirects to itself until a cookie comes back")]
    CookieWall,
}

impl RedirectError {
    /// Stable snake_case name.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoLocation => "redirect_without_location",
            Self::Ambiguous => "redirect_ambiguous",
            Self::Url(UrlError::UnsupportedScheme) => "redirect_scheme",
            Self::Url(_) => "redirect_invalid",
            Self::Loop => "redirect_loop",
            Self::CookieWall => "cookie_wall",
        }
    }
}

/// The five statuses that name another place for the same thing (RFC 9110 section 15.4); 300, 304, 305, 306 do not.
#[must_use]
pub fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The canonical target, resolved against the URL that was asked for (RFC 9110 section 10.2.2).
///
/// # Errors
///
/// Why there is none.
pub fn target(
    from: &CanonicalUrl,
    headers: &HeaderMap,
    canonicalizer: &Canonicalizer,
) -> Result<CanonicalUrl, RedirectError> {
    let mut locations = headers.get_all(LOCATION).iter();
    let first = locations
        .next()
        .ok_or(RedirectError::NoLocation)?
        .as_bytes();
    if locations.any(|other| other.as_bytes() != first) {
        return Err(RedirectError::Ambiguous);
    }
    if first.trim_ascii().is_empty() {
        return Err(RedirectError::NoLocation);
    }
    if first.len() > MAX_LOCATION_BYTES {
        return Err(UrlError::TooLong {
            length_bytes: first.len(),
            max_bytes: MAX_LOCATION_BYTES,
        }
        .into());
    }
    let target = canonicalizer.join(from, &as_ascii(first))?;
    if target == *from {
        return Err(if headers.contains_key(SET_COOKIE) {
            RedirectError::CookieWall
        } else {
            RedirectError::Loop
        });
    }
    Ok(target)
}

/// Bytes beyond ASCII become percent triplets, whatever encoding the server thought of.
fn as_ascii(location: &[u8]) -> String {
    let mut text = String::with_capacity(location.len());
    for &byte in location {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn resolve(from: &str, locations: &[&[u8]], cookie: bool) -> Result<String, RedirectError> {
        let mut headers = HeaderMap::new();
        for location in locations {
            headers.append(LOCATION, HeaderValue::from_bytes(location).unwrap());
        }
        if cookie {
            headers.insert(SET_COOKIE, HeaderValue::from_static("a=b"));
        }
        let from = CanonicalUrl::verify(from, 2_048).unwrap();
        target(&from, &headers, &Canonicalizer::default()).map(String::from)
    }

    /// case G2
    #[test]
    fn locations_are_resolved_and_encoded_by_the_byte() {
        let from = "http://a.example/d/p?x=1";
        let cases: [(&[u8], &str); 8] = [
            ("/ü x".as_bytes(), "http://a.example/%C3%BC%20x"),
            (b"/\xfc", "http://a.example/%FC"),
            (b"?q", "http://a.example/d/p?q"),
            (b"//h/x", "http://h/x"),
            (b"../e", "http://a.example/e"),
            (b"https://b.example", "https://b.example/"),
            (
                "http://bücher.example/".as_bytes(),
                "http://xn--bcher-kva.example/",
            ),
            (b"/y#frag", "http://a.example/y"),
        ];
        for (location, expected) in cases {
            assert_eq!(resolve(from, &[location], false).unwrap(), expected);
        }
        assert_eq!(
            resolve(from, &[b"/a", b"/b"], false),
            Err(RedirectError::Ambiguous)
        );
        assert_eq!(
            resolve(from, &[b"/a", b"/a"], false).unwrap(),
            "http://a.example/a"
        );
        assert_eq!(resolve(from, &[], false), Err(RedirectError::NoLocation));
        assert_eq!(
            resolve(from, &[b" "], false),
            Err(RedirectError::NoLocation)
        );
        assert_eq!(
            resolve(from, &[b"ftp://a.example/"], false)
                .unwrap_err()
                .reason(),
            "redirect_scheme"
        );
        let long = [b"/".as_slice(), &[b'a'; MAX_LOCATION_BYTES]].concat();
        assert_eq!(
            resolve(from, &[&long], false).unwrap_err().reason(),
            "redirect_invalid"
        );
    }

    /// case G1: a ping-pong between two spellings of one URL is a loop of one; with a cookie it is a wall.
    #[test]
    fn loops_of_one_are_seen() {
        assert_eq!(
            resolve("http://a.example/x", &[b"/x"], false),
            Err(RedirectError::Loop)
        );
        assert_eq!(
            resolve("http://a.example/a%2Cb", &[b"/a%2cb"], false),
            Err(RedirectError::Loop)
        );
        assert_eq!(
            resolve("http://a.example/x", &[b"http://A.example:80/x#y"], false),
            Err(RedirectError::Loop)
        );
        assert_eq!(
            resolve("http://a.example/x", &[b"/x"], true),
            Err(RedirectError::CookieWall)
        );
        assert!(resolve("http://a.example/x", &[b"/y"], true).is_ok());
    }

    /// case G26
    #[test]
    fn five_statuses_are_redirects() {
        let are: Vec<u16> = (300..400)
            .filter(|code| is_redirect(StatusCode::from_u16(*code).unwrap()))
            .collect();
        assert_eq!(are, [301, 302, 303, 307, 308]);
    }

    /// case C16: user information in a Location goes nowhere.
    #[test]
    fn credentials_are_dropped() {
        assert_eq!(
            resolve("http://a.example/", &[b"http://u@x:p@q@b.example/z"], false).unwrap(),
            "http://b.example/z"
        );
    }
}
