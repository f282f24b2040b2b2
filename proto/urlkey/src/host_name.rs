//! A canonical host name: the key of a host's clock.

use std::fmt;

use url::Host;

use crate::limits::{MAX_HOST_BYTES, MAX_LABEL_BYTES};

/// Why a host was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No host at all.
    #[error("it is empty")]
    Empty,
    /// Two dots in a row, a leading dot, or more than one trailing dot.
    #[error("it has an empty label")]
    EmptyLabel,
    /// A label of more than 63 bytes (RFC 1035 section 2.3.4).
    #[error("a label is longer than {MAX_LABEL_BYTES} bytes")]
    LabelTooLong,
    /// More than 253 bytes (RFC 1035 section 2.3.4).
    #[error("it is longer than {MAX_HOST_BYTES} bytes")]
    TooLong,
    /// A character that is neither letter, digit, hyphen nor underscore, or that IDNA forbids.
    #[error("it has a forbidden character or is no valid IDNA name")]
    Forbidden,
    /// Looks like an IPv4 or IPv6 address and is none (zone identifiers included).
    #[error("it is not a valid IP address")]
    InvalidAddress,
    /// A good host, but not in canonical form where only that is accepted.
    #[error("it is not in canonical form")]
    NotCanonical,
}

/// A canonical host: lower-case A-labels without a trailing dot, a dotted IPv4 address, or an IPv6 address in
/// brackets in the form of RFC 5952. No port: the clock is per host name, across ports and crawls. At most 253
/// bytes, labels of at most 63 bytes, none empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// Takes a host that is already canonical.
    ///
    /// # Errors
    ///
    /// [`HostError::NotCanonical`] for another spelling of a good host, else what is wrong with it.
    pub fn parse(input: &str) -> Result<Self, HostError> {
        if input.is_empty() {
            return Err(HostError::Empty);
        }
        if input.len() > MAX_HOST_BYTES {
            return Err(HostError::TooLong);
        }
        let canonical = match Host::parse(input).map_err(host_error)? {
            Host::Domain(domain) => check_domain(&domain)?.to_owned(),
            address => address.to_string(),
        };
        if canonical == input {
            Ok(Self(canonical))
        } else {
            Err(HostError::NotCanonical)
        }
    }

    /// Wraps what is known to be canonical.
    pub(crate) fn from_canonical(host: &str) -> Self {
        Self(host.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for HostName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Strips one trailing dot of a parsed domain and checks what the URL parser does not: lengths, empty labels, and
/// characters that no resolver or `Host` field takes although a URL parser lets them stand (`a"b`, `{x}`, `*`).
pub(crate) fn check_domain(domain: &str) -> Result<&str, HostError> {
    let name = domain.strip_suffix('.').unwrap_or(domain);
    if name.len() > MAX_HOST_BYTES {
        return Err(HostError::TooLong);
    }
    for label in name.as_bytes().split(|&b| b == b'.') {
        if label.is_empty() {
            return Err(HostError::EmptyLabel);
        }
        if label.len() > MAX_LABEL_BYTES {
            return Err(HostError::LabelTooLong);
        }
        // Underscores are no host names by RFC 1123, but they resolve and are in use.
        if !label
            .iter()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        {
            return Err(HostError::Forbidden);
        }
    }
    Ok(name)
}

/// What the URL parser says of a host, in our words.
pub(crate) fn host_error(error: url::ParseError) -> HostError {
    match error {
        url::ParseError::EmptyHost => HostError::Empty,
        url::ParseError::InvalidIpv4Address | url::ParseError::InvalidIpv6Address => {
            HostError::InvalidAddress
        }
        _ => HostError::Forbidden,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn takes_canonical_hosts_only() {
        for good in [
            "example.com",
            "localhost",
            "192.0.2.4",
            "[::1]",
            "[2001:db8::1]",
            "xn--bcher-kva.example",
            "_dmarc.a-.b",
        ] {
            assert_eq!(HostName::parse(good).unwrap().as_str(), good);
        }
        for other in [
            "Example.com",
            "example.com.",
            "bücher.example",
            "0x7f.1",
            "[0:0::1]",
            "ex%61mple.com",
            "[::ffff:192.0.2.1]",
        ] {
            assert_eq!(
                HostName::parse(other),
                Err(HostError::NotCanonical),
                "{other}"
            );
        }
    }

    #[test]
    fn names_what_is_wrong() {
        let cases = [
            ("", HostError::Empty),
            (".", HostError::EmptyLabel),
            ("a..b", HostError::EmptyLabel),
            (".a", HostError::EmptyLabel),
            ("a..", HostError::EmptyLabel),
            ("1.2.3.4.5", HostError::InvalidAddress),
            ("::1", HostError::Forbidden),
            ("[::1", HostError::InvalidAddress),
            ("[fe80::1%25eth0]", HostError::InvalidAddress),
            ("a b", HostError::Forbidden),
            ("{host}", HostError::Forbidden),
            ("*.example.com", HostError::Forbidden),
            ("h:80", HostError::Forbidden),
            ("xn--a", HostError::Forbidden),
        ];
        for (input, error) in cases {
            assert_eq!(HostName::parse(input), Err(error), "{input}");
        }
        let label = "a".repeat(64);
        assert_eq!(HostName::parse(&label), Err(HostError::LabelTooLong));
        assert_eq!(HostName::parse(&label[1..]).unwrap().as_str().len(), 63);
        let name = [
            "a".repeat(63),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(61),
        ]
        .join(".");
        assert_eq!(name.len(), 253);
        assert!(HostName::parse(&name).is_ok());
        assert_eq!(
            HostName::parse(&format!("{name}d")),
            Err(HostError::TooLong)
        );
    }
}
