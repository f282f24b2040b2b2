//! Start tags of HTML, out of decoded text. The tokenizer is `html5gum`'s; here is what it reports to.
//!
//! Only start tags of interest ([`tag::TAGS`]) with attributes of interest ([`tag::ATTRIBUTES`]) are kept, so that memory is
//! bounded by the attribute limit times the attributes of interest, however many a tag has.

mod emitter;
mod foreign;
mod tag;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use emitter::TagEmitter;
use html5gum::Tokenizer;
pub(crate) use tag::{Tag, Value};

/// Calls `sink` for each start tag of interest in `text`. Values longer than `max_value_bytes` are marked, not kept. With `xml`
/// self-closing tags close, and CDATA sections exist everywhere. A tag that the end of input cuts is dropped, as the HTML
/// standard says.
pub(crate) fn for_each_tag(text: &str, max_value_bytes: usize, xml: bool, sink: impl FnMut(&Tag)) {
    let emitter = TagEmitter::new(max_value_bytes, xml, sink);
    // Reading from memory cannot fail.
    let Ok(()) = Tokenizer::new_with_emitter(text, emitter).finish();
}
