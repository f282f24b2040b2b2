//! Every record of a store in the order written: for export and for whoever wants to know what was captured when.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::capture::Truncated;
use crate::digest::Digest;
use crate::error::{BadRecord, GetError};
use crate::index::Mark;
use crate::page::Place;
use crate::segment::{self, FoundMember, ReadError, SegmentReader};
use crate::warc::{Record, RecordType};

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// The `warcinfo` record that opens a segment.
    Info,
    /// The first capture of a payload (`response`).
    Stored,
    /// A later capture of the same payload (`revisit`, identical payload).
    Duplicate,
    /// An answer 304 (`revisit`, not modified).
    Unmodified,
}

/// A record as it was read; its payload is not yet checked against its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Where it lies.
    pub place: Place,
    /// What it is.
    pub kind: RecordKind,
    /// Its `WARC-Record-ID`, without angle brackets.
    pub record_id: String,
    /// When it was captured (for `Info`: written), in milliseconds since 1970-01-01T00:00:00Z.
    pub captured_at_unix_ms: u64,
    /// The URL; empty for `Info`.
    pub url: String,
    /// The payload's digest; nothing for `Info`.
    pub digest: Option<Digest>,
    /// The HTTP status; nothing for `Info`.
    pub status: Option<u16>,
    /// The HTTP headers as stored; empty for `Info`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The payload of a `Stored` record; empty for all others.
    pub payload: Bytes,
    /// Why the payload ended early, when it did.
    pub truncated: Option<Truncated>,
}

/// Iterates over all records that were durable when it was made. After a damaged record it goes on with the next whole one.
#[derive(Debug)]
pub struct Records(Walk);

impl Records {
    pub(crate) fn new(dir: &Path, marks: BTreeMap<u32, Mark>) -> Records {
        Records(Walk::new(dir, marks))
    }
}

impl Iterator for Records {
    type Item = Result<StoredRecord, GetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = match self.0.next()? {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let place = found.place;
        Some(StoredRecord::of(place, found.record).map_err(|reason| self.0.damaged(place, reason)))
    }
}

impl StoredRecord {
    fn of(place: Place, record: Record) -> Result<StoredRecord, BadRecord> {
        let kind = match record.record_type {
            RecordType::WarcInfo => RecordKind::Info,
            RecordType::Response => RecordKind::Stored,
            RecordType::RevisitIdentical => RecordKind::Duplicate,
            RecordType::RevisitNotModified => RecordKind::Unmodified,
        };
        let (mut status, mut headers, mut payload) = (None, Vec::new(), Bytes::new());
        if kind != RecordKind::Info {
            let (head, body) = record.http()?;
            (status, headers, payload) = (Some(head.status), head.headers, body);
        }
        Ok(StoredRecord {
            place,
            kind,
            record_id: record.id.to_string(),
            captured_at_unix_ms: record.captured_at_unix_ms,
            url: record.url,
            digest: record.digest,
            status,
            headers,
            payload,
            truncated: record.truncated,
        })
    }
}

/// The same over parsed records, for our own use.
#[derive(Debug)]
pub(crate) struct Walk {
    dir: PathBuf,
    segments: std::collections::btree_map::IntoIter<u32, Mark>,
    reader: Option<(u32, SegmentReader)>,
    /// The reader stands at a bad record.
    is_stuck: bool,
}

impl Walk {
    pub(crate) fn new(dir: &Path, marks: BTreeMap<u32, Mark>) -> Walk {
        Walk {
            dir: dir.to_owned(),
            segments: marks.into_iter(),
            reader: None,
            is_stuck: false,
        }
    }

    pub(crate) fn damaged(&self, place: Place, reason: BadRecord) -> GetError {
        GetError::Damaged {
            path: segment::path(&self.dir, place.segment),
            offset_bytes: place.offset_bytes,
            reason,
        }
    }

    fn io(&self, number: u32, error: &io::Error) -> GetError {
        GetError::Io {
            path: segment::path(&self.dir, number),
            message: error.to_string(),
        }
    }

    fn next_in_segment(&mut self) -> Option<Result<FoundMember, GetError>> {
        let (number, reader) = self.reader.as_mut()?;
        let number = *number;
        if std::mem::take(&mut self.is_stuck) {
            match reader.skip_bad() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.reader = None;
                    return Some(Err(self.io(number, &error)));
                }
            }
        }
        match reader.next_member() {
            Ok(found) => found.map(Ok),
            Err(ReadError::Bad {
                offset_bytes,
                reason,
            }) => {
                self.is_stuck = true;
                Some(Err(self.damaged(
                    Place {
                        segment: number,
                        offset_bytes,
                        size_bytes: 0,
                    },
                    reason,
                )))
            }
            Err(ReadError::Io(error)) => {
                // The rest of this segment cannot be read; the others may.
                self.reader = None;
                Some(Err(self.io(number, &error)))
            }
        }
    }
}

impl Iterator for Walk {
    type Item = Result<FoundMember, GetError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.next_in_segment() {
                return Some(item);
            }
            let (number, mark) = self.segments.next()?;
            let path = segment::path(&self.dir, number);
            match SegmentReader::open(&path, number, 0, mark.end_bytes) {
                Ok(reader) => self.reader = Some((number, reader)),
                Err(error) => return Some(Err(self.io(number, &error))),
            }
        }
    }
}
