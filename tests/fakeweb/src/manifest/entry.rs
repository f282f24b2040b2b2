//! One line of a manifest.

use serde::{Deserialize, Serialize};

/// What a polite crawl must end with for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Status 200 and a whole body; its digest is in the entry.
    Fetched,
    /// Status 200 and a body beyond usual caps (feature `oversize`).
    Oversize,
    /// Status 200 and a body shorter than its `Content-Length`.
    Truncated,
    /// A redirect status; the canonical target is in the entry and is itself an entry.
    Redirect,
    /// Status 404.
    NotFound,
    /// Status 410.
    Gone,
    /// Status 500, always.
    ServerError,
    /// The host's robots file disallows it: never asked for.
    Disallowed,
    /// The host's robots file answers 5xx: never asked for.
    UnreachableRobots,
}

impl Outcome {
    /// Whether a polite crawler never asks for the URL.
    pub fn is_forbidden(self) -> bool {
        matches!(self, Self::Disallowed | Self::UnreachableRobots)
    }

    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetched => "fetched",
            Self::Oversize => "oversize",
            Self::Truncated => "truncated",
            Self::Redirect => "redirect",
            Self::NotFound => "not_found",
            Self::Gone => "gone",
            Self::ServerError => "server_error",
            Self::Disallowed => "disallowed",
            Self::UnreachableRobots => "unreachable_robots",
        }
    }
}

/// A reachable URL and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Canonical URL, always `http` on the default port.
    pub url: String,
    /// What a crawl must end with.
    pub outcome: Outcome,
    /// Status of the last answer; null for URLs that are never asked for.
    pub status: Option<u16>,
    /// SHA-256, in hex, of the body after content codings are undone; null unless `fetched` or
    /// `oversize`, or when digests are switched off.
    pub digest: Option<String>,
    /// Host name of the URL.
    pub host: String,
    /// Number of distinct URLs an HTML page links to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u32>,
    /// Canonical target of a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Answers of 503 before the final one; the URL is asked for that much oftener.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// `Retry-After` of those answers, in milliseconds: the host must be left alone that long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_ms: u32,
    /// On a host's root: what a crawler must know of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_facts: Option<HostFacts>,
}

/// The politeness a host asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// URLs to fetch before any page: `/robots.txt` and where it redirects to, perhaps at another host.
    pub robots_urls: Vec<String>,
    /// Crawl-delay of the robots file, in milliseconds; 0 without one.
    pub crawl_delay_ms: u32,
    /// The robots file answers 5xx, so it may be tried again and again.
    pub robots_unreachable: bool,
    /// Wait before the first byte of each answer, in milliseconds; 0 for a host that is not slow.
    pub slow_ms: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
