//! What a crawler takes from an HTML page: links, directives and the character encoding.
//!
//! Pure: no clock, no I/O. An [`Extractor`] takes a body in chunks of any size, holds it, and reads it at its end. The way of
//! the bytes:
//!
//! ```text
//! chunks -> body -> encoding (of the first 8 KiB) -> UTF-8 -> html5gum -> tags of interest -> page -> Collector -> Extracted
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `extractor.rs` | [`Extractor`], the pipeline above |
//! | `options.rs`, `extracted.rs`, `link.rs`, `directives.rs` | what goes in and what comes out |
//! | `media_type.rs`, `charset.rs`, `charset/` | content type, and the encoding by the order of the HTML standard |
//! | `tags.rs`, `tags/` | start tags of HTML: what the tokenizer reports to |
//! | `page.rs`, `rel.rs`, `srcset.rs`, `refresh.rs` | elements and attributes to references, with their class |
//! | `link_header.rs` | the `Link` field of the response |
//! | `collector.rs`, `resolve.rs` | base, resolution, duplicates, caps |
//! | `limits.rs` | every limit |
//!
//! # The tokenizer
//!
//! Tokenizing and character references are left to `html5gum`, which follows the HTML standard and keeps no stack of open
//! elements. It pulls its input and so needs the whole body. It builds no tree; the emitter tells it where text is raw and
//! where content is foreign.
//!
//! # Choices
//!
//! - Scripts are off: `noscript` is read as ordinary content.
//! - All references are resolved against the first `base` that has an `href`, even those before it, as browsers do, within a
//!   limit on how many may wait for it.
//! - A body that is mostly control octets is not HTML, whatever its header says: `parse_failed`, no links.

mod charset;
mod collector;
mod directives;
mod extracted;
mod extractor;
pub mod limits;
mod link;
mod link_header;
mod media_type;
mod options;
mod page;
mod refresh;
mod rel;
mod resolve;
mod srcset;
mod tags;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod field_cases;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod properties;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod testing;

pub use charset::{Charset, CharsetSource};
pub use directives::Directives;
pub use extracted::{Dropped, Extracted};
pub use extractor::Extractor;
pub use link::{Link, LinkClass};
pub use options::{ExtractOptions, ResponseInfo};
