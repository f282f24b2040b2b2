//! A record read again: its WARC header checked, its block still bytes.

use bytes::Bytes;

use crate::capture::Truncated;
use crate::digest::Digest;
use crate::error::BadRecord;
use crate::limits;

use super::build::{PROFILE_IDENTICAL, PROFILE_NOT_MODIFIED};
use super::date;
use super::fields::Fields;
use super::http::HttpHead;
use super::record_id::RecordId;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordType {
    WarcInfo,
    Response,
    RevisitIdentical,
    RevisitNotModified,
}

/// A parsed record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) record_type: RecordType,
    pub(crate) id: RecordId,
    pub(crate) captured_at_unix_ms: u64,
    /// Empty for `warcinfo`.
    pub(crate) url: String,
    /// Every record but `warcinfo` has it.
    pub(crate) digest: Option<Digest>,
    pub(crate) block_digest: Digest,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) block: Bytes,
}

impl Record {
    /// Parses a whole decompressed member.
    pub(crate) fn parse(bytes: Bytes) -> Result<Record, BadRecord> {
        let header = Fields::parse(&bytes, limits::RECORD_HEADER_MAX_SIZE_BYTES)
            .ok_or(BadRecord::Warc("no end of the header"))?;
        if header.first_line != b"WARC/1.1" {
            return Err(BadRecord::Warc("not WARC/1.1"));
        }
        let record_type = record_type(&header)?;
        let size: usize = number(&header)?;
        let block_end = header
            .size_bytes
            .checked_add(size)
            .ok_or(BadRecord::Warc("Content-Length"))?;
        if bytes.get(block_end..) != Some(b"\r\n\r\n".as_slice()) {
            return Err(BadRecord::Warc(
                "Content-Length is not where the record ends",
            ));
        }
        let is_info = record_type == RecordType::WarcInfo;
        let url = header
            .text("WARC-Target-URI")
            .unwrap_or_default()
            .to_owned();
        if url.is_empty() && !is_info {
            return Err(BadRecord::Warc("no WARC-Target-URI"));
        }
        let digest = digest(&header, "WARC-Payload-Digest");
        if digest.is_none() && !is_info {
            return Err(BadRecord::Warc("no WARC-Payload-Digest"));
        }
        let id = header
            .text("WARC-Record-ID")
            .and_then(|text| text.parse().ok());
        Ok(Record {
            record_type,
            id: id.ok_or(BadRecord::Warc("WARC-Record-ID"))?,
            captured_at_unix_ms: header
                .text("WARC-Date")
                .and_then(date::parse)
                .ok_or(BadRecord::Warc("WARC-Date"))?,
            url,
            digest,
            block_digest: self::digest(&header, "WARC-Block-Digest")
                .ok_or(BadRecord::Warc("no WARC-Block-Digest"))?,
            truncated: header.text("WARC-Truncated").map(Truncated::from_field),
            block: bytes.slice(header.size_bytes..block_end),
        })
    }

    /// The HTTP head of the block, and what follows it.
    pub(crate) fn http(&self) -> Result<(HttpHead, Bytes), BadRecord> {
        let head = HttpHead::parse(&self.block)
            .ok_or(BadRecord::Http("no status line or no end of the headers"))?;
        let payload = self.block.slice(head.size_bytes..);
        Ok((head, payload))
    }
}

fn record_type(header: &Fields) -> Result<RecordType, BadRecord> {
    match (header.text("WARC-Type"), header.text("WARC-Profile")) {
        (Some("warcinfo"), _) => Ok(RecordType::WarcInfo),
        (Some("response"), _) => Ok(RecordType::Response),
        (Some("revisit"), Some(PROFILE_IDENTICAL)) => Ok(RecordType::RevisitIdentical),
        (Some("revisit"), Some(PROFILE_NOT_MODIFIED)) => Ok(RecordType::RevisitNotModified),
        _ => Err(BadRecord::Warc("WARC-Type or WARC-Profile")),
    }
}

fn number(header: &Fields) -> Result<usize, BadRecord> {
    header
        .text("Content-Length")
        .and_then(|text| text.parse().ok())
        .ok_or(BadRecord::Warc("Content-Length"))
}

fn digest(header: &Fields, name: &str) -> Option<Digest> {
    header.text(name).and_then(|text| text.parse().ok())
}
