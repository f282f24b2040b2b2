//! What a crawler takes from an HTML page: links, directives and the character encoding, while the bytes arrive.
//!
//! Pure: no clock, no I/O. An [`Extractor`] takes a body in chunks of any size; the result does not depend on how it was
//! cut. The way of the bytes:
//!
//! ```text
//! chunks -> sample (8 KiB) -> encoding -> UTF-8 -> Tokenizer -> tags of interest -> page -> Collector -> Extracted
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `extractor.rs` | [`Extractor`], the pipeline above |
//! | `options.rs`, `extracted.rs`, `link.rs`, `directives.rs` | what goes in and what comes out |
//! | `media_type.rs`, `charset.rs`, `charset/` | content type, and the encoding by the order of the HTML standard |
//! | `tokenizer.rs`, `tokenizer/` | start tags of HTML, one octet at a time |
//! | `page.rs`, `rel.rs`, `srcset.rs`, `refresh.rs` | elements and attributes to references, with their class |
//! | `link_header.rs` | the `Link` field of the response |
//! | `collector.rs`, `resolve.rs` | base, resolution, duplicates, caps |
//! | `limits.rs` | every limit |
//!
//! # Why a tokenizer of our own
//!
//! Links need start tags only, from a hostile stream, in constant memory. The rewriter at hand (`lol_html`) keeps an item for
//! every element that is not closed and the whole of a tag in memory, and stops for good at its limit: a page of unclosed list
//! items or one large `data:` image would lose all that follows. It also takes `noscript` as raw text and has no mode for the
//! self-closing `script` of XHTML. The exact tokenizer at hand (`html5gum`) pulls its input and so needs the whole page. Ours is
//! a push machine with no stack to fill; a property test compares it with `html5gum`.
//!
//! # Choices
//!
//! - Scripts are off: `noscript` and `noframes` are read as ordinary content.
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
mod tokenizer;

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
