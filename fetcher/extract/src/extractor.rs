//! The pipeline: chunks in, [`Extracted`] out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use encoding_rs::{CoderResult, Decoder};

use crate::charset::{Charset, determine};
use crate::collector::Collector;
use crate::directives::Directives;
use crate::extracted::Extracted;
use crate::limits::{CONTROLS_ONE_IN, MIN_CONTROLS, SAMPLE_BYTES};
use crate::media_type::{Kind, kind};
use crate::options::{ExtractOptions, ResponseInfo};
use crate::page::Page;
use crate::resolve::Resolver;
use crate::tokenizer::Tokenizer;
use crate::{link_header, rel};

/// Octets of decoded text handed on at a time.
const TEXT_BYTES: usize = 16 * 1024;

/// Extracts from one body. Feed it with [`Extractor::push`], then [`Extractor::finish`]. Never fails, never panics: what
/// goes wrong is a flag of the result. `Send`, and of bounded size whatever the body.
#[derive(Debug)]
pub struct Extractor {
    response: ResponseInfo,
    kind: Kind,
    page: Page,
    tokenizer: Tokenizer,
    stage: Stage,
    charset: Option<Charset>,
    truncated: bool,
    parse_failed: bool,
}

enum Stage {
    /// The first octets gather.
    Sampling(Vec<u8>),
    /// The encoding is known.
    Reading { decoder: Decoder, text: Vec<u8> },
    /// Nothing more is read: not HTML, or reading failed.
    Closed,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sampling(_) => "Sampling",
            Self::Reading { .. } => "Reading",
            Self::Closed => "Closed",
        })
    }
}

impl Extractor {
    /// For the body of one response. Its fields count at once, whatever its type; the body only if it is HTML or XHTML.
    #[must_use]
    pub fn new(options: ExtractOptions, response: ResponseInfo) -> Self {
        let kind = kind(response.content_type.as_deref());
        let resolver = Resolver::new(
            options.canonicalizer,
            options.max_url_length,
            response.url.clone(),
        );
        let mut page = Page {
            agent: options.agent,
            directives: Directives::default(),
            collector: Collector::new(resolver, options.max_links),
        };
        for field in &response.x_robots_tag {
            page.directives.add_header(field, &page.agent);
        }
        for link in link_header::links(&response.link) {
            if let Some(class) = rel::class(&link.rel, &link.media_type) {
                page.collector.add_of_response(link.target, class);
            }
        }
        let stage = if kind == Kind::Other {
            Stage::Closed
        } else {
            Stage::Sampling(Vec::new())
        };
        Self {
            tokenizer: Tokenizer::new(options.max_attribute_bytes, kind == Kind::Xhtml),
            response,
            kind,
            page,
            stage,
            charset: None,
            truncated: false,
            parse_failed: false,
        }
    }

    /// Reads a chunk of the decompressed body. How a body is cut makes no difference.
    pub fn push(&mut self, chunk: &[u8]) {
        self.guarded(|this| this.read(chunk));
    }

    /// The body is not whole: it was cut at a limit. Whatever was found so far counts.
    pub fn mark_truncated(&mut self) {
        self.truncated = true;
    }

    /// The body is over.
    #[must_use]
    pub fn finish(mut self) -> Extracted {
        self.guarded(Self::read_end);
        let collected = self.page.collector.finish();
        Extracted {
            links: collected.links,
            directives: self.page.directives,
            canonical: collected.canonical,
            base: collected.base,
            charset: self.charset,
            truncated: self.truncated || collected.dropped.over_limit > 0,
            links_dropped: collected.dropped,
            parse_failed: self.parse_failed,
        }
    }

    /// A panic below, which only a bug can cause, ends this page and not the worker.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            self.stage = Stage::Closed;
            self.parse_failed = true;
        }
    }

    fn read(&mut self, mut chunk: &[u8]) {
        if let Stage::Sampling(sample) = &mut self.stage {
            let (first, rest) = chunk.split_at(chunk.len().min(SAMPLE_BYTES - sample.len()));
            sample.extend_from_slice(first);
            chunk = rest;
            if sample.len() < SAMPLE_BYTES {
                return;
            }
            self.end_sample(false);
        }
        self.decode(chunk, false);
    }

    fn read_end(&mut self) {
        if matches!(self.stage, Stage::Sampling(_)) {
            self.end_sample(true);
        }
        self.decode(&[], true);
    }

    /// Finds the encoding, and whether this is text at all.
    fn end_sample(&mut self, whole: bool) {
        let Stage::Sampling(sample) = std::mem::replace(&mut self.stage, Stage::Closed) else {
            return;
        };
        let content_type = self.response.content_type.as_deref();
        let (encoding, source, mark_len) =
            determine(&sample, whole, content_type, self.kind, &self.response.url);
        let content = sample.get(mark_len..).unwrap_or_default();
        let start = encoding.new_decoder_without_bom_handling();
        if is_binary(start, content) {
            self.parse_failed = true;
            return;
        }
        self.charset = Some(Charset {
            label: encoding.name(),
            source,
        });
        self.page.collector.set_encoding(encoding);
        self.stage = Stage::Reading {
            decoder: encoding.new_decoder_without_bom_handling(),
            text: vec![0; TEXT_BYTES],
        };
        self.decode(content, false);
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        let Self {
            stage: Stage::Reading { decoder, text },
            tokenizer,
            page,
            ..
        } = self
        else {
            return;
        };
        loop {
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, text, last);
            tokenizer.push(&text[..written], &mut |tag| page.read(tag));
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

/// True if the decoded sample holds more control octets than any text does (MIME Sniffing, "binary data byte").
fn is_binary(mut decoder: Decoder, sample: &[u8]) -> bool {
    let mut text = vec![0; SAMPLE_BYTES * 3 + 16];
    let (_, _, written, _) = decoder.decode_to_utf8(sample, &mut text, false);
    let is_control = |b: &&u8| matches!(**b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    let controls = text[..written].iter().filter(is_control).count();
    controls >= MIN_CONTROLS && controls * CONTROLS_ONE_IN > written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::url;

    fn assert_send<T: Send>(_: &T) {}

    #[test]
    fn a_panic_below_ends_the_page_only() {
        let mut extractor = Extractor::new(
            ExtractOptions::new("mybot"),
            ResponseInfo::html(url("http://a.example/")),
        );
        assert_send(&extractor);
        extractor.push(b"<a href=/x>");
        extractor.guarded(|_| std::panic::resume_unwind(Box::new("a bug")));
        extractor.push(b"<a href=/y>");
        let extracted = extractor.finish();
        assert!(extracted.parse_failed);
        assert_eq!(extracted.links, []);
    }
}
