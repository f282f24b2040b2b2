//! Every limit of this crate, with what happens at it.

/// Links of class `Page` kept for one page unless the options say otherwise, and as many of all other classes together;
/// further ones are counted and dropped.
pub const DEFAULT_MAX_LINKS: usize = 2_000;

/// Octets of a body that are read; further ones are ignored and the result marked truncated.
pub const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Octets of an attribute's value, character references decoded, unless the options say otherwise. A longer value is dropped whole, never cut.
pub const DEFAULT_MAX_ATTRIBUTE_BYTES: usize = 16 * 1024;

/// Octets of a canonical URL unless the options say otherwise.
pub const DEFAULT_MAX_URL_BYTES: usize = 2_048;

/// The first octets of a body: an encoding is detected, and a binary body recognised, on these alone.
pub const SAMPLE_BYTES: usize = 8 * 1024;

/// Octets searched for an encoding declaration (HTML standard, "prescan a byte stream").
pub const PRESCAN_BYTES: usize = 1_024;

/// A sample with more than one control octet in so many is binary...
pub const CONTROLS_ONE_IN: usize = 32;

/// ...if it has at least so many of them: a short page may hold a stray one.
pub const MIN_CONTROLS: usize = 16;

/// References that may wait for a `base`; at more the document's own URL becomes the base for good.
pub const MAX_WAITING_REFERENCES: usize = 1_024;

/// Octets of the references that may wait for a `base`, likewise.
pub const MAX_WAITING_BYTES: usize = 256 * 1024;

/// Candidates read from one `srcset`; further ones are ignored.
pub const MAX_SRCSET_CANDIDATES: usize = 64;

/// Links read from the `Link` fields of one response; further ones are ignored.
pub const MAX_LINK_HEADER_VALUES: usize = 64;

/// Depth of nested SVG and MathML that is followed; deeper nesting is read as if it were not nested.
pub const MAX_FOREIGN_DEPTH: usize = 64;
