//! The pipeline: chunks in, [`Extracted`] out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use encoding_rs::Decoder;

use crate::charset::{Charset, determine};
use crate::collector::Collector;
use crate::directives::Directives;
use crate::extracted::Extracted;
use crate::limits::{CONTROLS_ONE_IN, MAX_BODY_BYTES, MIN_CONTROLS, SAMPLE_BYTES};
use crate::media_type::{Kind, kind};
use crate::options::{ExtractOptions, ResponseInfo};
use crate::page::Page;
use crate::resolve::Resolver;
use crate::tags::for_each_tag;
use crate::{link_header, rel};

/// Extracts from one body. Feed it with [`Extractor::push`], then [`Extractor::finish`], which does the work. Never fails,
/// never panics: what goes wrong is a flag of the result. `Send`. Holds the body, up to [`MAX_BODY_BYTES`].
#[derive(Debug)]
pub struct Extractor {
    response: ResponseInfo,
    kind: Kind,
    max_attribute_bytes: usize,
    page: Page,
    body: Vec<u8>,
    charset: Option<Charset>,
    truncated: bool,
    parse_failed: bool,
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
        Self {
            response,
            kind,
            max_attribute_bytes: options.max_attribute_bytes,
            page,
            body: Vec::new(),
            charset: None,
            truncated: false,
            parse_failed: false,
        }
    }

    /// Takes a chunk of the decompressed body. How a body is cut makes no difference. What goes beyond [`MAX_BODY_BYTES`] is
    /// ignored, and the result marked truncated.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.kind == Kind::Other {
            return;
        }
        let kept_bytes = chunk.len().min(MAX_BODY_BYTES - self.body.len());
        self.truncated |= kept_bytes < chunk.len();
        self.body.extend_from_slice(&chunk[..kept_bytes]);
    }

    /// The body is not whole: it was cut at a limit. Whatever was found so far counts.
    pub fn mark_truncated(&mut self) {
        self.truncated = true;
    }

    /// The body is over: reads it.
    #[must_use]
    pub fn finish(mut self) -> Extracted {
        self.guarded(Self::read);
        self.into_extracted()
    }

    /// A panic below, which only a bug can cause, ends this page and not the worker.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            self.parse_failed = true;
        }
    }

    /// Finds the encoding, and whether this is text at all; then reads the tags.
    fn read(&mut self) {
        if self.kind == Kind::Other {
            return;
        }
        let sample = &self.body[..self.body.len().min(SAMPLE_BYTES)];
        let whole = sample.len() == self.body.len();
        let content_type = self.response.content_type.as_deref();
        let (encoding, source, mark_len) =
            determine(sample, whole, content_type, self.kind, &self.response.url);
        let start = encoding.new_decoder_without_bom_handling();
        if is_binary(start, sample.get(mark_len..).unwrap_or_default()) {
            self.parse_failed = true;
            return;
        }
        self.charset = Some(Charset {
            label: encoding.name(),
            source,
        });
        let Self {
            page,
            body,
            max_attribute_bytes,
            ..
        } = self;
        page.collector.set_encoding(encoding);
        let content = body.get(mark_len..).unwrap_or_default();
        let (text, _) = encoding.decode_without_bom_handling(content);
        let xml = self.kind == Kind::Xhtml;
        for_each_tag(&text, *max_attribute_bytes, xml, |tag| page.read(tag));
    }

    fn into_extracted(self) -> Extracted {
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
        extractor.guarded(|extractor| {
            extractor.read();
            std::panic::resume_unwind(Box::new("a bug"));
        });
        let extracted = extractor.into_extracted();
        assert!(extracted.parse_failed);
        assert_eq!(extracted.links.len(), 1, "what was found so far counts");
    }

    #[test]
    fn a_body_beyond_the_limit_is_cut_and_flagged() {
        let at_limit = |end: &str| {
            let mut extractor = Extractor::new(
                ExtractOptions::new("mybot"),
                ResponseInfo::html(url("http://a.example/")),
            );
            extractor.push(b"<a href=/x></a>");
            extractor.push(&vec![b' '; MAX_BODY_BYTES - 15 - "<a href=/y>".len()]);
            for octet in end.as_bytes() {
                extractor.push(&[*octet]);
            }
            let extracted = extractor.finish();
            (extracted.links.len(), extracted.truncated)
        };
        assert_eq!(at_limit("<a href=/y>"), (2, false));
        assert_eq!(at_limit("<a  href=/y>"), (1, true));
    }
}
