//! The part of a put that costs a core: look up, claim, build, compress. Runs in the caller's blocking pool.

use std::sync::Arc;

use crate::announcement::Announcement;
use crate::capture::{Capture, UnmodifiedCapture};
use crate::claims::{Claim, ClaimEnd, Claims};
use crate::deflated::Deflated;
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

/// The outcome of preparing what has no payload yet.
#[derive(Debug)]
pub(crate) enum PreparedHead {
    /// The payload is known: a record that needs no bytes.
    Ready(Box<ReadyRecord>),
    /// The payload is not known, and nobody else may write it now.
    Claimed(Claim),
    /// As in [`Prepared::Wait`].
    Wait(ClaimEnd),
}

/// What a digest is to this store.
enum Standing {
    Known(Row),
    Claimed(Claim),
    Held(ClaimEnd),
}

impl Preparer {
    /// A capture becomes a `response` if its payload is new, a `revisit` if it is known.
    pub(crate) fn capture(
        &self,
        capture: &Capture,
        deflated: Option<&Deflated>,
        digest: Digest,
    ) -> Result<Prepared, PutError> {
        match self.standing(digest)? {
            Standing::Known(row) => {
                let payload_bytes = capture.payload.len() as u64;
                let ready = self.identical(capture, digest, payload_bytes, &row)?;
                Ok(Prepared::Ready(ready))
            }
            Standing::Claimed(claim) => {
                let ready = self.first(capture, deflated, digest, claim)?;
                Ok(Prepared::Ready(ready))
            }
            Standing::Held(end) => Ok(Prepared::Wait(end)),
        }
    }

    /// An announced capture becomes a `revisit` if its payload is known; else its digest is claimed for the bytes to come.
    pub(crate) fn head(&self, announced: &Announcement) -> Result<PreparedHead, PutError> {
        let Announcement {
            capture,
            digest,
            payload_size_bytes,
        } = announced;
        Ok(match self.standing(*digest)? {
            Standing::Known(row) => {
                let ready = self.identical(capture, *digest, *payload_size_bytes, &row)?;
                PreparedHead::Ready(ready)
            }
            Standing::Claimed(claim) => PreparedHead::Claimed(claim),
            Standing::Held(end) => PreparedHead::Wait(end),
        })
    }

    /// Whether a payload is known.
    pub(crate) fn is_known(&self, digest: &Digest) -> Result<bool, PutError> {
        Ok(self.row(digest)?.is_some())
    }

    /// Known, or claimed for us, or held by another.
    fn standing(&self, digest: Digest) -> Result<Standing, PutError> {
        if let Some(row) = self.row(&digest)? {
            return Ok(Standing::Known(row));
        }
        let claim = match self.claims.claim(digest) {
            Ok(claim) => claim,
            Err(end) => return Ok(Standing::Held(end)),
        };
        // Another claim may have ended, with its row written, between the look-up and ours.
        let row = self.row(&digest)?;
        Ok(row.map_or(Standing::Claimed(claim), Standing::Known))
    }

    /// The first record of a payload.
    pub(crate) fn first(
        &self,
        capture: &Capture,
        deflated: Option<&Deflated>,
        digest: Digest,
        claim: Claim,
    ) -> Result<Box<ReadyRecord>, PutError> {
        let id = self.ids.next();
        let member = Response {
            id,
            digest,
            capture,
            deflated,
        }
        .encode(self.compression_level)?;
        Ok(Box::new(ReadyRecord {
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
        }))
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
        payload_size_bytes: u64,
        row: &Row,
    ) -> Result<Box<ReadyRecord>, PutError> {
        let revisit = Revisit {
            id: self.ids.next(),
            digest,
            refers_to: refers_to(row),
        };
        let member =
            revisit.encode_identical(capture, payload_size_bytes, self.compression_level)?;
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
        let ready = ready_revisit(digest, RecordType::RevisitNotModified, member);
        Ok(Prepared::Ready(ready))
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

fn ready_revisit(digest: Digest, record_type: RecordType, member: Member) -> Box<ReadyRecord> {
    Box::new(ReadyRecord {
        digest,
        record_type,
        member,
        payload_bytes: 0,
        first: None,
    })
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
