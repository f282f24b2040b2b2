//! Messages of `store.v1` to types and back. What comes from the wire is checked here.

mod capture;
mod page;
mod report;
mod status;

pub(crate) use capture::{announcement, put_head, unmodified, unmodified_request};
pub(crate) use page::{PageParts, page_head};
pub(crate) use report::{problem, problem_message, progress, progress_message};

use bytes::Bytes;
use page_store::{Digest, Outcome, Place, Put, Truncated};
use proto::store_v1 as pb;

use crate::StoreCallError;

/// A digest from the wire.
pub(crate) fn digest(bytes: &[u8]) -> Result<Digest, StoreCallError> {
    let wrong = || StoreCallError::invalid(format!("a digest of {} bytes", bytes.len()));
    Ok(Digest(bytes.try_into().map_err(|_| wrong())?))
}

/// A digest for the wire.
pub(crate) fn digest_bytes(digest: &Digest) -> Bytes {
    Bytes::copy_from_slice(&digest.0)
}

/// What a put answers.
pub(crate) fn stored(put: &Put, store_id: u32) -> pb::Stored {
    pb::Stored {
        store_id,
        duplicate: put.outcome == Outcome::Duplicate,
        place: Some(pb::Place {
            segment: put.place.segment,
            offset_bytes: put.place.offset_bytes,
            size_bytes: put.place.size_bytes,
        }),
    }
}

/// The answer to a put of this digest.
pub(crate) fn put(stored: &pb::Stored, digest: Digest) -> Put {
    let place = stored.place.unwrap_or_default();
    Put {
        digest,
        outcome: if stored.duplicate {
            Outcome::Duplicate
        } else {
            Outcome::Stored
        },
        place: Place {
            segment: place.segment,
            offset_bytes: place.offset_bytes,
            size_bytes: place.size_bytes,
        },
    }
}

fn headers(list: &[(String, Vec<u8>)]) -> Vec<pb::Header> {
    let header = |(name, value): &(String, Vec<u8>)| pb::Header {
        name: name.clone(),
        value: Bytes::copy_from_slice(value),
    };
    list.iter().map(header).collect()
}

fn header_list(headers: Vec<pb::Header>) -> Vec<(String, Vec<u8>)> {
    headers
        .into_iter()
        .map(|header| (header.name, header.value.to_vec()))
        .collect()
}

fn truncated_message(truncated: Option<Truncated>) -> pb::Truncated {
    match truncated {
        None => pb::Truncated::Not,
        Some(Truncated::Length) => pb::Truncated::Length,
        Some(Truncated::Time) => pb::Truncated::Time,
        Some(Truncated::Disconnect) => pb::Truncated::Disconnect,
        Some(Truncated::Unspecified) => pb::Truncated::Unspecified,
    }
}

/// One that this version does not know counts as unspecified: truncated it is.
fn truncated(value: i32) -> Option<Truncated> {
    match pb::Truncated::try_from(value) {
        Ok(pb::Truncated::Not) => None,
        Ok(pb::Truncated::Length) => Some(Truncated::Length),
        Ok(pb::Truncated::Time) => Some(Truncated::Time),
        Ok(pb::Truncated::Disconnect) => Some(Truncated::Disconnect),
        Ok(pb::Truncated::Unspecified) | Err(_) => Some(Truncated::Unspecified),
    }
}
