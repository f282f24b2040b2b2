//! The row of a payload: all that a `revisit` record must say about the first capture, so that a duplicate costs no read of a segment.

use crate::digest::Digest;
use crate::page::Place;
use crate::warc::RecordId;

pub(super) const KEY_START: u8 = b'd';
const VERSION: u8 = 1;
const FIXED_SIZE_BYTES: usize = 1 + 4 + 8 + 8 + 8 + 16;

/// The first record of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) place: Place,
    pub(crate) captured_at_unix_ms: u64,
    pub(crate) id: RecordId,
    pub(crate) url: String,
}

pub(super) fn key(digest: &Digest) -> [u8; 33] {
    let mut key = [KEY_START; 33];
    key[1..].copy_from_slice(&digest.0);
    key
}

pub(super) fn digest_of(key: &[u8]) -> Option<Digest> {
    let digest = key.strip_prefix(&[KEY_START])?;
    Some(Digest(digest.try_into().ok()?))
}

impl Row {
    /// Version, segment (4), offset (8), size (8), time (8), id (16), URL; numbers big-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(FIXED_SIZE_BYTES + self.url.len());
        value.push(VERSION);
        value.extend_from_slice(&self.place.segment.to_be_bytes());
        value.extend_from_slice(&self.place.offset_bytes.to_be_bytes());
        value.extend_from_slice(&self.place.size_bytes.to_be_bytes());
        value.extend_from_slice(&self.captured_at_unix_ms.to_be_bytes());
        value.extend_from_slice(&self.id.0);
        value.extend_from_slice(self.url.as_bytes());
        value
    }

    pub(super) fn decode(value: &[u8]) -> Option<Row> {
        let (fixed, url) = value.split_at_checked(FIXED_SIZE_BYTES)?;
        let number = |at: usize| Some(u64::from_be_bytes(fixed.get(at..at + 8)?.try_into().ok()?));
        if fixed[0] != VERSION {
            return None;
        }
        Some(Row {
            place: Place {
                segment: u32::from_be_bytes(fixed.get(1..5)?.try_into().ok()?),
                offset_bytes: number(5)?,
                size_bytes: number(13)?,
            },
            captured_at_unix_ms: number(21)?,
            id: RecordId(fixed.get(29..)?.try_into().ok()?),
            url: std::str::from_utf8(url).ok()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip_and_other_versions_are_refused() {
        let place = Place {
            segment: 7,
            offset_bytes: u64::MAX - 1,
            size_bytes: 300,
        };
        let row = Row {
            place,
            captured_at_unix_ms: 12,
            id: RecordId([9; 16]),
            url: "http://a.example/é".to_owned(),
        };
        let mut value = row.encode();
        assert_eq!(Row::decode(&value), Some(row));
        assert_eq!(Row::decode(&value[..FIXED_SIZE_BYTES - 1]), None);
        value[0] = 2;
        assert_eq!(Row::decode(&value), None);
        let digest = Digest::of(b"x");
        assert_eq!(digest_of(&key(&digest)), Some(digest));
        assert_eq!(digest_of(b"m0001"), None);
    }
}
