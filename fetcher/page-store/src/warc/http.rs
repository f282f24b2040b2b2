//! The HTTP head inside a record, true about the bytes that follow it.

use crate::capture::{Capture, UnmodifiedCapture};
use crate::limits;

use super::fields::Fields;

/// Put before the names of headers that spoke of the body as it travelled.
pub(crate) const ORIGINAL_PREFIX: &str = "X-Archive-Orig-";

/// The headers that would be false about a decoded payload (case K5).
const BODY_HEADERS: [&str; 3] = ["content-encoding", "transfer-encoding", "content-length"];

/// The head of an answer with a payload of this size, which is its `Content-Length`.
pub(super) fn response_head(capture: &Capture, payload_size_bytes: u64) -> Vec<u8> {
    let mut head = status_line(capture.status, &capture.reason);
    push_headers(&mut head, &capture.headers);
    head.extend_from_slice(format!("Content-Length: {payload_size_bytes}\r\n\r\n").as_bytes());
    head
}

/// The head of a 304: no length of ours, for it has no body.
pub(super) fn unmodified_head(capture: &UnmodifiedCapture) -> Vec<u8> {
    let mut head = status_line(304, "Not Modified");
    push_headers(&mut head, &capture.headers);
    head.extend_from_slice(b"\r\n");
    head
}

/// Always HTTP/1.1: readers refuse anything else (case K7); `WARC-Protocol` has what was spoken.
fn status_line(status: u16, reason: &str) -> Vec<u8> {
    let mut line = format!("HTTP/1.1 {status:03} ").into_bytes();
    push_value(&mut line, reason.as_bytes());
    line.extend_from_slice(b"\r\n");
    line
}

fn push_headers(head: &mut Vec<u8>, headers: &[(String, Vec<u8>)]) {
    for (name, value) in headers {
        if BODY_HEADERS
            .iter()
            .any(|body_header| name.eq_ignore_ascii_case(body_header))
        {
            head.extend_from_slice(ORIGINAL_PREFIX.as_bytes());
        }
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        push_value(head, value);
        head.extend_from_slice(b"\r\n");
    }
}

/// CR, LF and NUL become spaces, as RFC 9110 section 5.5 has recipients do: they would start a header of their own.
fn push_value(head: &mut Vec<u8>, value: &[u8]) {
    head.extend(value.iter().map(|byte| {
        if matches!(byte, b'\r' | b'\n' | 0) {
            b' '
        } else {
            *byte
        }
    }));
}

/// A head read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpHead {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) size_bytes: usize,
}

impl HttpHead {
    /// Reads the head at the start of a block.
    pub(crate) fn parse(block: &[u8]) -> Option<HttpHead> {
        let fields = Fields::parse(block, limits::HEAD_MAX_SIZE_BYTES)?;
        let after = fields.first_line.strip_prefix(b"HTTP/1.1 ")?;
        let status = std::str::from_utf8(after.get(..3)?).ok()?.parse().ok()?;
        Some(HttpHead {
            status,
            headers: fields.fields,
            size_bytes: fields.size_bytes,
        })
    }
}
