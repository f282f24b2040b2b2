//! Every limit of this crate, in one place.

/// Longest canonical URL unless a crawl asks for another limit, in bytes.
pub const DEFAULT_MAX_URL_BYTES: usize = 2_048;

/// Longest canonical URL any crawl may ask for, in bytes.
pub const HARD_MAX_URL_BYTES: usize = 8_192;

/// Longest text looked at, in bytes. Larger than a canonical URL may be, because a fragment, user information and
/// blanks vanish; bounded, because the text comes from strangers.
pub const MAX_INPUT_BYTES: usize = 65_536;

/// Longest host name without a trailing dot, in bytes (RFC 1035 section 2.3.4: 255 octets on the wire).
pub const MAX_HOST_BYTES: usize = 253;

/// Longest label of a host name, in bytes (RFC 1035 section 2.3.4).
pub const MAX_LABEL_BYTES: usize = 63;

/// Longest queue key, in bytes.
pub const MAX_QUEUE_KEY_BYTES: usize = 255;

/// Most query parameters a crawl may have dropped.
pub const MAX_DROP_PARAMS: usize = 256;

/// Longest name of a dropped query parameter, in bytes.
pub const MAX_DROP_PARAM_BYTES: usize = 256;

/// Longest text of a suffix list, in bytes (the public one has a quarter of a MiB).
pub const MAX_SUFFIX_LIST_BYTES: usize = 8 << 20;
