//! Reads a page's body once: into memory within the budget, and through the link extractor on the way.

use std::time::{SystemTime, UNIX_EPOCH};

use extract::{ExtractOptions, Extracted, Extractor, ResponseInfo};
use reqwest::header::{CONTENT_TYPE, HeaderName, LINK};

use crate::budget::Payload;
use crate::cycle::Page;
use crate::http::{Body, FetchError, Head};
use crate::limits::DECODE_CHUNK_BYTES;

/// A body read to its end or its cap.
pub(crate) struct Read {
    pub(crate) payload: Payload,
    pub(crate) payload_size_bytes: u64,
    pub(crate) truncated: bool,
    pub(crate) extracted: Extracted,
    pub(crate) captured_at_unix_ms: u64,
}

/// Reads it all, or nothing counts.
pub(crate) async fn read(page: &Page<'_>, head: &Head, mut body: Body) -> Result<Read, FetchError> {
    let captured_at_unix_ms = unix_ms_now();
    let mut extractor = Extractor::new(options(page), response_info(page, head));
    let mut payload = page.ctx.budget.body();
    let mut payload_size_bytes = 0;
    while let Some(piece) = body.next().await? {
        payload.push(&piece)?;
        payload_size_bytes += piece.len() as u64;
        for chunk in piece.chunks(DECODE_CHUNK_BYTES) {
            extractor.push(chunk);
            if piece.len() > DECODE_CHUNK_BYTES {
                // A compressed piece can be large decoded: others want to run as well.
                tokio::task::yield_now().await;
            }
        }
    }
    let truncated = body.truncated();
    if truncated {
        extractor.mark_truncated();
    }
    Ok(Read {
        payload,
        payload_size_bytes,
        truncated,
        extracted: extractor.finish(),
        captured_at_unix_ms,
    })
}

fn options(page: &Page<'_>) -> ExtractOptions {
    let mut options = ExtractOptions::new(page.ctx.config.http.product.clone());
    options.canonicalizer = page.ctx.crawls.of(page.work.crawl).canonicalizer.clone();
    options.max_url_length = options.canonicalizer.options().max_length_bytes;
    options
}

fn response_info(page: &Page<'_>, head: &Head) -> ResponseInfo {
    let all = |name: HeaderName| {
        head.headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let content_type = head.headers.get(CONTENT_TYPE);
    ResponseInfo {
        url: page.url.clone(),
        content_type: content_type
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        x_robots_tag: all(HeaderName::from_static("x-robots-tag")),
        link: all(LINK),
    }
}

/// The time of a capture; the only use of a wall clock here.
pub(crate) fn unix_ms_now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
