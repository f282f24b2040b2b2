//! Every limit of this crate, with what happens beyond it.

/// Bytes of a body that are parsed (500 KiB, the least RFC 9309 section 2.5 permits); the rest is ignored.
pub const MAX_BODY_BYTES: usize = 500 * 1024;

/// A longer line is ignored as a whole, never cut: no URL of ours is long enough to need it.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// Most rules one body can hold: its shortest line is `allow:/` and a line end. Groups that speak to other agents are
/// never stored, so any number of groups costs nothing but their bytes; rules need no tighter cap than the body's.
pub const MAX_RULES: usize = MAX_BODY_BYTES / 8 + 1;

/// Sitemap lines kept; further ones are ignored.
pub const MAX_SITEMAPS: usize = 1_000;

/// A longer sitemap address is ignored (the hard limit of a URL elsewhere).
pub const MAX_SITEMAP_BYTES: usize = 8_192;

/// A larger `Crawl-delay` counts as this one: 31 days, in milliseconds.
pub const MAX_CRAWL_DELAY_MS: u64 = 31 * 24 * 3_600 * 1_000;
