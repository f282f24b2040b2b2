//! The part of a put that costs a core: look up, claim, build, compress. Runs in the caller's blocking pool.

use std::sync::Arc;

use crate::capture::{Capture, UnmodifiedCapture};
use crate::claims::{Claim, ClaimEnd, Claims};
use crate::digest::Digest;
use crate::error::{GetError, PutError};
use crate::index::{Index, IndexError, Row};
use crate::warc::{
    EncodeError, Member, RecordId, RecordIds, RecordType, RefersTo, Response, Revisit,
};

/// What preparing needs of a store.
pub(crate) struct Preparer {
    pub(crate) index: Arc<Index>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) ids: Arc<RecordIds>,
    pub(crate) compression_level: u32,
}

/// A record ready to be appended.
#[derive(Debug)]
pub(crate) struct ReadyRecord {
    pub(crate) digest: Digest,
    pub(crate) record_type: RecordType,
    pub(crate) member: Member,
    pub(crate) payload_bytes: u64,
    /// For a `response`: what its row will say, and the claim that ends when the row is there.
    pub(crate) first: Option<FirstCapture>,
}

/// The part of a row that is known before the record has a place.
#[derive(Debug)]
pub(crate) struct FirstCapture {
    pub(crate) id: RecordId,
    pub(crate) url: String,
    pub(crate) captured_at_unix_ms: u64,
    /// Held, not read.
    pub(crate) _claim: Claim,
}

/// The outcome of preparing.
#[derive(Debug)]
pub(crate) enum Prepared {
    Ready(Box<ReadyRecord>),
    /// The digest is being written by another put: wait, then prepare again.
    Wait(ClaimEnd),
}

impl Preparer {
    /// A capture becomes a `response` if its payload is new, a `revisit` if it is known.
    pub(crate) fn capture(&self, capture: &Capture, digest: Digest) -> Result<Prepared, PutError> {
        if let Some(row) = self.row(&digest)? {
            return self.identical(capture, digest, &row);
        }
        let claim = match self.claims.claim(digest) {
            Ok(claim) => claim,
            Err(end) => return Ok(Prepared::Wait(end)),
        };
        // Another claim may have ended, with its row written, between the look-up and ours.
        if let Some(row) = self.row(&digest)? {
            return self.identical(capture, digest, &row);
        }
        let id = self.ids.next();
        let member = Response {
            id,
            digest,
            capture,
        }
        .encode(self.compression_level)?;
        Ok(Prepared::Ready(Box::new(ReadyRecord {
            digest,
            record_type: RecordType::Response,
            member,
            payload_bytes: capture.payload.len() as u64,
            first: Some(FirstCapture {
                id,
                url: capture.url.clone(),
                captured_at_unix_ms: capture.captured_at_unix_ms,
                _claim: claim,
            }),
        })))
    }

    /// A 304 becomes a `revisit` of the payload it names.
    pub(crate) fn unmodified(&self, capture: &UnmodifiedCapture) -> Result<Prepared, PutError> {
        let digest = capture.digest;
        let Some(row) = self.row(&digest)? else {
            if let Some(end) = self.claims.held(&digest) {
                return Ok(Prepared::Wait(end));
            }
            // A claim may have ended since the look-up.
            let row = self
                .row(&digest)?
                .ok_or(PutError::UnknownDigest { digest })?;
            return self.not_modified(capture, &row);
        };
        self.not_modified(capture, &row)
    }

    fn identical(
        &self,
        capture: &Capture,
        digest: Digest,
        row: &Row,
    ) -> Result<Prepared, PutError> {
        let revisit = Revisit {
            id: self.ids.next(),
            digest,
            refers_to: refers_to(row),
        };
        let member = revisit.encode_identical(capture, self.compression_level)?;
        Ok(ready_revisit(digest, RecordType::RevisitIdentical, member))
    }

    fn not_modified(&self, capture: &UnmodifiedCapture, row: &Row) -> Result<Prepared, PutError> {
        let digest = capture.digest;
        let revisit = Revisit {
            id: self.ids.next(),
            digest,
            refers_to: refers_to(row),
        };
        let member = revisit.encode_unmodified(capture, self.compression_level)?;
        Ok(ready_revisit(
            digest,
            RecordType::RevisitNotModified,
            member,
        ))
    }

    fn row(&self, digest: &Digest) -> Result<Option<Row>, PutError> {
        let index_error = |error: IndexError| GetError::Index(error.message);
        Ok(self.index.get(digest).map_err(index_error)?)
    }
}

fn refers_to(row: &Row) -> RefersTo<'_> {
    RefersTo {
        id: row.id,
        url: &row.url,
        captured_at_unix_ms: row.captured_at_unix_ms,
    }
}

fn ready_revisit(digest: Digest, record_type: RecordType, member: Member) -> Prepared {
    Prepared::Ready(Box::new(ReadyRecord {
        digest,
        record_type,
        member,
        payload_bytes: 0,
        first: None,
    }))
}

impl From<EncodeError> for PutError {
    fn from(error: EncodeError) -> PutError {
        match error {
            EncodeError::Invalid(invalid) => PutError::Invalid(invalid),
            EncodeError::Compress(_) => PutError::Io {
                what: error.to_string(),
            },
        }
    }
}
