//! `WARC-Record-ID`: a UUID that no other record has.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::digest::Digest;

/// A record's UUID. Displayed as `urn:uuid:...`; the field puts it in angle brackets (WARC 1.1 section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RecordId(pub(crate) [u8; 16]);

impl RecordId {
    /// A UUID of version 8 (RFC 9562 section 5.8: custom) from the first bits of a hash.
    fn from_hash(hash: Digest) -> RecordId {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.0[..16]);
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        RecordId(bytes)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(self.0);
        let (a, b, c, d, e) = (
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        );
        write!(f, "urn:uuid:{a}-{b}-{c}-{d}-{e}")
    }
}

impl FromStr for RecordId {
    type Err = ();

    /// Reads the field's value, in angle brackets.
    fn from_str(text: &str) -> Result<RecordId, ()> {
        let uuid = text
            .strip_prefix("<urn:uuid:")
            .and_then(|rest| rest.strip_suffix('>'))
            .ok_or(())?;
        let digits: String = uuid.chars().filter(|c| *c != '-').collect();
        let mut bytes = [0; 16];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| ())?;
        Ok(RecordId(bytes))
    }
}

/// Makes ids: a hash of (this store, this opening of it, a counter). A record's place would do as well, but a record is built
/// and compressed before it has one.
#[derive(Debug)]
pub(crate) struct RecordIds {
    seed: [u8; 32],
    next: AtomicU64,
}

impl RecordIds {
    /// Ids for one opening of a store.
    pub(crate) fn new(store_id: &[u8; 16]) -> RecordIds {
        RecordIds {
            seed: once_seed(store_id),
            next: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> RecordId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        RecordId::from_hash(Digest::of_parts(&[&self.seed, &number.to_be_bytes()]))
    }
}

/// 32 bytes that no other call gives: the system's random keys behind `RandomState`, the clock, the process.
pub(crate) fn once_seed(salt: &[u8]) -> [u8; 32] {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let random_a = RandomState::new().hash_one(salt);
    let random_b = RandomState::new().hash_one(since_epoch);
    let numbers = [
        random_a,
        random_b,
        since_epoch.as_nanos() as u64,
        u64::from(std::process::id()),
    ];
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect();
    Digest::of_parts(&[salt, &bytes]).0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_distinct_uuids_and_round_trip() {
        let (first, second) = (RecordIds::new(&[1; 16]), RecordIds::new(&[1; 16]));
        let ids: Vec<RecordId> = (0..100)
            .flat_map(|_| [first.next(), second.next()])
            .collect();
        let texts: BTreeSet<String> = ids.iter().map(RecordId::to_string).collect();
        assert_eq!(texts.len(), 200);
        for id in ids {
            let text = id.to_string();
            assert_eq!(text.len(), "urn:uuid:".len() + 36);
            assert_eq!(&text["urn:uuid:".len() + 14..][..1], "8");
            assert_eq!(format!("<{text}>").parse::<RecordId>(), Ok(id));
        }
        assert_eq!("<urn:uuid:12>".parse::<RecordId>(), Err(()));
    }
}
