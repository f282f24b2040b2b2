//! Fixed places for hosts: `PATTERN=ADDR:PORT`, for tests and for crawls of what is served elsewhere.

use std::net::SocketAddr;
use std::str::FromStr;

use serde::Deserialize;
use urlkey::HostName;

/// One override: hosts that match are connected to at this address and port, whatever the port in the URL. The `Host`
/// field, the name in TLS and the scheme stay what the URL says (case I13).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Override {
    pattern: Pattern,
    to: SocketAddr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    All,
    /// With its leading dot: `.example.com` for `*.example.com`.
    Suffix(String),
    Exact(String),
}

/// What is wrong with an override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// No `=`.
    #[error("{0:?} is not PATTERN=ADDR:PORT")]
    Form(String),
    /// The part before `=` is neither `*`, `*.suffix` nor a canonical host.
    #[error("pattern {0:?} is neither *, *.suffix nor a host name")]
    Pattern(String),
    /// The part after `=` is no address with a port.
    #[error("{0:?} is not ADDR:PORT")]
    Address(String),
}

impl Override {
    /// Where matching hosts are connected to.
    #[must_use]
    pub fn to(&self) -> SocketAddr {
        self.to
    }

    fn matches(&self, host: &str) -> bool {
        match &self.pattern {
            Pattern::All => true,
            Pattern::Suffix(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Pattern::Exact(name) => host == name,
        }
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pattern, to) = text
            .split_once('=')
            .ok_or_else(|| OverrideError::Form(text.to_owned()))?;
        let to: SocketAddr = to
            .parse()
            .map_err(|_| OverrideError::Address(to.to_owned()))?;
        if to.port() == 0 {
            return Err(OverrideError::Address(to.to_string()));
        }
        let is_host = |name: &str| HostName::parse(name).is_ok();
        let pattern = match pattern.strip_prefix("*.") {
            _ if pattern == "*" => Pattern::All,
            Some(suffix) if is_host(suffix) => Pattern::Suffix(format!(".{suffix}")),
            None if is_host(pattern) => Pattern::Exact(pattern.to_owned()),
            _ => return Err(OverrideError::Pattern(pattern.to_owned())),
        };
        Ok(Self { pattern, to })
    }
}

impl TryFrom<String> for Override {
    type Error = OverrideError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// All overrides, in order; the first that matches counts.
#[derive(Debug, Clone, Default)]
pub struct Overrides(Vec<Override>);

impl Overrides {
    /// In this order.
    #[must_use]
    pub fn new(list: Vec<Override>) -> Self {
        Self(list)
    }

    /// Where this canonical host is to be connected to, if anywhere special.
    #[must_use]
    pub fn find(&self, host: &str) -> Option<SocketAddr> {
        self.0
            .iter()
            .find(|one| one.matches(host))
            .map(Override::to)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_labels_and_the_first_counts() {
        let list = [
            "a.example=127.0.0.1:1",
            "*.example=127.0.0.1:2",
            "*=[::1]:3",
        ]
        .map(|text| text.parse().unwrap());
        let overrides = Overrides::new(list.into());
        let port = |host: &str| overrides.find(host).unwrap().port();
        assert_eq!(
            (port("a.example"), port("b.a.example"), port("b.example")),
            (1, 2, 2)
        );
        assert_eq!(
            (
                port("example"),
                port("bexample"),
                port("192.0.2.1"),
                port("[::1]")
            ),
            (3, 3, 3, 3)
        );
        assert_eq!(Overrides::default().find("a.example"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<Override>().unwrap_err();
        assert!(matches!(error("a.example"), OverrideError::Form(_)));
        for pattern in [
            "=1.1.1.1:1",
            "*.=1.1.1.1:1",
            "a*=1.1.1.1:1",
            "A.example=1.1.1.1:1",
            "*.*=1.1.1.1:1",
        ] {
            assert!(
                matches!(error(pattern), OverrideError::Pattern(_)),
                "{pattern}"
            );
        }
        for address in [
            "*=1.1.1.1",
            "*=b.example:80",
            "*=1.1.1.1:0",
            "*=1.1.1.1:70000",
            "*=",
        ] {
            assert!(
                matches!(error(address), OverrideError::Address(_)),
                "{address}"
            );
        }
    }
}
