//! The encoding of a page: byte-order mark, then header, then declaration, then detection, then a default (HTML standard,
//! "determining the character encoding"). A label nobody knows is skipped, not believed.

mod declaration;
mod prescan;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use urlkey::CanonicalUrl;

use crate::limits::{PRESCAN_BYTES, SAMPLE_BYTES};
use crate::media_type::{Kind, charset_parameter};

/// How an encoding was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CharsetSource {
    /// A byte-order mark.
    ByteOrderMark,
    /// The `Content-Type` field.
    Header,
    /// A `meta` element or XML declaration in the first 1 024 octets.
    Declaration,
    /// The look of the first octets.
    Detected,
    /// Nothing told: UTF-8 (the sample was ASCII, or the type is XHTML).
    Default,
}

/// An encoding, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    /// The name in the Encoding Standard, e.g. `UTF-8`, `windows-1252`, `Shift_JIS`.
    pub label: &'static str,
    /// How it was found.
    pub source: CharsetSource,
}

/// Decides. `sample` holds the first octets of the body, `whole` says it holds all. Also returns the length of the
/// byte-order mark, which is no content.
pub(crate) fn determine(
    sample: &[u8],
    whole: bool,
    content_type: Option<&str>,
    kind: Kind,
    url: &CanonicalUrl,
) -> (&'static Encoding, CharsetSource, usize) {
    if let Some((encoding, mark_len)) = Encoding::for_bom(sample) {
        return (encoding, CharsetSource::ByteOrderMark, mark_len);
    }
    let named = content_type.and_then(charset_parameter);
    if let Some(encoding) = named.and_then(|label| known(label.as_bytes())) {
        return (encoding, CharsetSource::Header, 0);
    }
    let start = &sample[..sample.len().min(PRESCAN_BYTES)];
    if let Some(encoding) = prescan::prescan(start).or_else(|| declaration::xml_encoding(start)) {
        return (encoding, CharsetSource::Declaration, 0);
    }
    if kind == Kind::Xhtml {
        return (UTF_8, CharsetSource::Default, 0);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    if !detector.feed(&sample[..sample.len().min(SAMPLE_BYTES)], whole) {
        // Pure ASCII so far. What comes later is more likely UTF-8 than anything else.
        return (UTF_8, CharsetSource::Default, 0);
    }
    (
        detector.guess(top_level_domain(url), Utf8Detection::Allow),
        CharsetSource::Detected,
        0,
    )
}

/// The encoding of a label; none for those nobody knows and those that exist only to be refused.
fn known(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// The hint the detector takes: lower-case ASCII letters, or an A-label.
fn top_level_domain(url: &CanonicalUrl) -> Option<&[u8]> {
    let last = url.host().rsplit('.').next()?;
    let fits = last.bytes().all(|b| b.is_ascii_lowercase())
        || last.starts_with("xn--")
            && last
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    (fits && !last.is_empty()).then_some(last.as_bytes())
}
