//! What an extraction is told.

use urlkey::{CanonicalUrl, Canonicalizer};

use crate::limits::{DEFAULT_MAX_ATTRIBUTE_BYTES, DEFAULT_MAX_LINKS, DEFAULT_MAX_URL_BYTES};

/// How to extract; the same for all pages of a crawl.
#[derive(Debug, Clone)]
pub struct ExtractOptions {
    /// Our product token: directives addressed to it count, those addressed to other agents do not.
    pub agent: String,
    /// Most links of class `Page`, and as many of all other classes together.
    pub max_links: usize,
    /// Most octets of an attribute's value, in UTF-8, character references decoded; a longer one is dropped, never cut.
    pub max_attribute_bytes: usize,
    /// Most octets of a canonical URL; a longer one is dropped, never cut.
    pub max_url_length: usize,
    /// The crawl's canonicaliser.
    pub canonicalizer: Canonicalizer,
}

impl ExtractOptions {
    /// The default limits and canonical form, for `agent`.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            max_links: DEFAULT_MAX_LINKS,
            max_attribute_bytes: DEFAULT_MAX_ATTRIBUTE_BYTES,
            max_url_length: DEFAULT_MAX_URL_BYTES,
            canonicalizer: Canonicalizer::default(),
        }
    }
}

/// What is known of the response before its body.
#[derive(Debug, Clone)]
pub struct ResponseInfo {
    /// The URL that answered, redirects behind it: references resolve against it.
    pub url: CanonicalUrl,
    /// The `Content-Type` field.
    pub content_type: Option<String>,
    /// Each `X-Robots-Tag` field.
    pub x_robots_tag: Vec<String>,
    /// Each `Link` field.
    pub link: Vec<String>,
}

impl ResponseInfo {
    /// A response of `text/html` without further fields.
    #[must_use]
    pub fn html(url: CanonicalUrl) -> Self {
        Self {
            url,
            content_type: Some("text/html".into()),
            x_robots_tag: Vec::new(),
            link: Vec::new(),
        }
    }
}
