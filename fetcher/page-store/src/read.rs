//! One record read at its place, and checked against its digest (case K11).

use std::path::Path;

use crate::digest::Digest;
use crate::error::{BadRecord, GetError};
use crate::page::{Page, Place};
use crate::segment::{self, ReadError, SegmentReader};
use crate::warc::{Record, RecordType};

/// The record at a place.
pub(crate) fn record(dir: &Path, place: Place) -> Result<Record, GetError> {
    let path = segment::path(dir, place.segment);
    let io_error = |error: std::io::Error| GetError::Io {
        path: path.clone(),
        message: error.to_string(),
    };
    let mut reader =
        SegmentReader::open(&path, place.segment, place.offset_bytes, place.end_bytes())
            .map_err(io_error)?;
    match reader.next_member() {
        Ok(Some(found)) if found.place == place => Ok(found.record),
        Ok(_) => Err(damaged(dir, place, BadRecord::Cut)),
        Err(ReadError::Bad { reason, .. }) => Err(damaged(dir, place, reason)),
        Err(ReadError::Io(error)) => Err(io_error(error)),
    }
}

/// The page at a place, which must be the first record of this payload.
pub(crate) fn page(dir: &Path, place: Place, wanted: &Digest) -> Result<Page, GetError> {
    page_of(&record(dir, place)?, wanted).map_err(|reason| damaged(dir, place, reason))
}

/// The page in a record, its payload hashed again.
pub(crate) fn page_of(record: &Record, wanted: &Digest) -> Result<Page, BadRecord> {
    if record.record_type != RecordType::Response {
        return Err(BadRecord::NotAResponse);
    }
    let (head, payload) = record.http()?;
    let found = Digest::of(&payload);
    if found != *wanted {
        return Err(BadRecord::Digest {
            wanted: *wanted,
            found,
        });
    }
    Ok(Page {
        payload,
        headers: head.headers,
        status: head.status,
        url: record.url.clone(),
        captured_at_unix_ms: record.captured_at_unix_ms,
        truncated: record.truncated,
    })
}

fn damaged(dir: &Path, place: Place, reason: BadRecord) -> GetError {
    GetError::Damaged {
        path: segment::path(dir, place.segment),
        offset_bytes: place.offset_bytes,
        reason,
    }
}
