//! Records of the three kinds this store writes, built and compressed.

use std::fmt::Write as _;
use std::io;

use crate::capture::{Capture, UnmodifiedCapture};
use crate::deflated::{Deflated, END};
use crate::digest::Digest;
use crate::error::InvalidCapture;

use super::member::Member;
use super::record_id::RecordId;
use super::{date, http};

/// WARC 1.1 section 6.7.2.
pub(super) const PROFILE_IDENTICAL: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// WARC 1.1 section 6.7.3.
pub(super) const PROFILE_NOT_MODIFIED: &str =
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

const HTTP_RESPONSE: &str = "application/http;msgtype=response";
/// The first capture of a payload.
pub(crate) struct Response<'a> {
    pub(crate) id: RecordId,
    pub(crate) digest: Digest,
    pub(crate) capture: &'a Capture,
    /// The payload deflated, where it came so.
    pub(crate) deflated: Option<&'a Deflated>,
}

/// What a revisit refers to: the first capture of its payload.
pub(crate) struct RefersTo<'a> {
    pub(crate) id: RecordId,
    pub(crate) url: &'a str,
    pub(crate) captured_at_unix_ms: u64,
}

/// A later capture of a payload.
pub(crate) struct Revisit<'a> {
    pub(crate) id: RecordId,
    /// Of the payload, not of the empty block (cases G5 and K2).
    pub(crate) digest: Digest,
    pub(crate) refers_to: RefersTo<'a>,
}

/// The first record of a segment.
pub(crate) struct WarcInfo<'a> {
    pub(crate) id: RecordId,
    pub(crate) file_name: &'a str,
    pub(crate) created_at_unix_ms: u64,
    pub(crate) software: &'a str,
    pub(crate) store_id: &'a [u8; 16],
}

impl Response<'_> {
    /// The record, compressed.
    pub(crate) fn encode(&self, level: u32) -> Result<Member, EncodeError> {
        let head = http::response_head(self.capture, self.capture.payload.len() as u64);
        let mut header = Header::new("response", self.id, self.capture.captured_at_unix_ms)?;
        header.push("WARC-Target-URI", &self.capture.url);
        header.push_connection(self.capture);
        header.push("WARC-Payload-Digest", self.digest.field_value());
        header.push("Content-Type", HTTP_RESPONSE);
        let payload = &self.capture.payload;
        Ok(match self.deflated {
            Some(deflated) => header.finish_around(&head, payload, deflated, level)?,
            None => header.finish(&[&head, payload], level)?,
        })
    }
}

impl Revisit<'_> {
    /// A capture whose payload, of this size, turned out to be known: the bytes themselves are not looked at.
    pub(crate) fn encode_identical(
        &self,
        capture: &Capture,
        payload_size_bytes: u64,
        level: u32,
    ) -> Result<Member, EncodeError> {
        let head = http::response_head(capture, payload_size_bytes);
        let mut header = Header::new("revisit", self.id, capture.captured_at_unix_ms)?;
        header.push("WARC-Target-URI", &capture.url);
        header.push_connection(capture);
        self.push_fields(&mut header, PROFILE_IDENTICAL)?;
        Ok(header.finish(&[&head], level)?)
    }

    /// An answer 304.
    pub(crate) fn encode_unmodified(
        &self,
        capture: &UnmodifiedCapture,
        level: u32,
    ) -> Result<Member, EncodeError> {
        let head = http::unmodified_head(capture);
        let mut header = Header::new("revisit", self.id, capture.captured_at_unix_ms)?;
        header.push("WARC-Target-URI", &capture.url);
        self.push_fields(&mut header, PROFILE_NOT_MODIFIED)?;
        Ok(header.finish(&[&head], level)?)
    }

    fn push_fields(&self, header: &mut Header, profile: &str) -> Result<(), EncodeError> {
        header.push("WARC-Profile", profile);
        header.push("WARC-Refers-To", format!("<{}>", self.refers_to.id));
        header.push("WARC-Refers-To-Target-URI", self.refers_to.url);
        header.push(
            "WARC-Refers-To-Date",
            date_field(self.refers_to.captured_at_unix_ms)?,
        );
        header.push("WARC-Payload-Digest", self.digest.field_value());
        header.push("Content-Type", HTTP_RESPONSE);
        Ok(())
    }
}

impl WarcInfo<'_> {
    /// The record, compressed.
    pub(crate) fn encode(&self, level: u32) -> Result<Member, EncodeError> {
        let software: String = self
            .software
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let block = format!(
            "software: {software}\r\nformat: WARC File Format 1.1\r\n\
             conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
             isPartOf: escapement-page-store-{}\r\n\
             description: payloads are stored after content decoding; original body headers are kept as {}*\r\n",
            hex::encode(self.store_id),
            http::ORIGINAL_PREFIX,
        );
        let mut header = Header::new("warcinfo", self.id, self.created_at_unix_ms)?;
        header.push("WARC-Filename", self.file_name);
        header.push("Content-Type", "application/warc-fields");
        Ok(header.finish(&[block.as_bytes()], level)?)
    }
}

/// Why a record could not be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    #[error(transparent)]
    Invalid(#[from] InvalidCapture),
    #[error("compress a record: {0}")]
    Compress(#[from] io::Error),
}

/// A WARC header under construction.
struct Header(String);

impl Header {
    fn new(record_type: &str, id: RecordId, at_unix_ms: u64) -> Result<Header, EncodeError> {
        let mut header = Header("WARC/1.1\r\n".to_owned());
        header.push("WARC-Type", record_type);
        header.push("WARC-Record-ID", format!("<{id}>"));
        header.push("WARC-Date", date_field(at_unix_ms)?);
        Ok(header)
    }

    /// Values come from our own code or were checked to hold no line end.
    fn push(&mut self, name: &str, value: impl AsRef<str>) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{name}: {}\r\n", value.as_ref());
    }

    fn push_connection(&mut self, capture: &Capture) {
        if let Some(peer_addr) = capture.peer_addr {
            self.push("WARC-IP-Address", peer_addr.ip().to_canonical().to_string());
        }
        if !capture.protocol.is_empty() {
            self.push("WARC-Protocol", &capture.protocol);
        }
        if let Some(truncated) = capture.truncated {
            self.push("WARC-Truncated", truncated.as_str());
        }
    }

    fn finish(self, block: &[&[u8]], level: u32) -> io::Result<Member> {
        let header = self.close(block);
        let mut pieces = vec![header.as_bytes()];
        pieces.extend_from_slice(block);
        pieces.push(END);
        Member::encode(&pieces, level)
    }

    /// A record whose payload is deflated already: only what stands before it is compressed here.
    fn finish_around(
        self,
        head: &[u8],
        payload: &[u8],
        deflated: &Deflated,
        level: u32,
    ) -> io::Result<Member> {
        let mut lead = self.close(&[head, payload]).into_bytes();
        lead.extend_from_slice(head);
        Member::encode_around(&lead, payload, deflated, level)
    }

    /// The whole header of a record with this block.
    fn close(mut self, block: &[&[u8]]) -> String {
        let block_bytes: usize = block.iter().map(|piece| piece.len()).sum();
        self.push("WARC-Block-Digest", Digest::of_parts(block).field_value());
        self.push("Content-Length", block_bytes.to_string());
        self.0.push_str("\r\n");
        self.0
    }
}

fn date_field(unix_ms: u64) -> Result<String, InvalidCapture> {
    date::format(unix_ms).ok_or(InvalidCapture::Date(unix_ms))
}
