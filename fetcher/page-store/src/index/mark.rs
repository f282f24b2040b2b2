//! The mark of a segment: how much of it is durable and indexed, and what that part holds.

use crate::warc::RecordType;

pub(super) const KEY_START: u8 = b'm';
const VERSION: u8 = 1;
const NUMBERS: usize = 7;

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Everything before this was synced and has its rows.
    pub(crate) end_bytes: u64,
    /// Where the last record before that begins: read when the store is opened, to see that this is the same file.
    pub(crate) last_offset_bytes: u64,
    /// Nothing is ever appended again; what lies beyond `end_bytes` was never acknowledged.
    pub(crate) sealed: bool,
    pub(crate) records: u64,
    pub(crate) payloads: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) duplicates: u64,
    pub(crate) unmodified: u64,
}

pub(super) fn key(number: u32) -> [u8; 5] {
    let mut key = [KEY_START; 5];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

impl Mark {
    /// Moves the mark over one more record.
    pub(crate) fn add(&mut self, record_type: RecordType, size_bytes: u64, payload_bytes: u64) {
        self.last_offset_bytes = self.end_bytes;
        self.end_bytes += size_bytes;
        self.records += 1;
        match record_type {
            RecordType::WarcInfo => {}
            RecordType::Response => {
                self.payloads += 1;
                self.payload_bytes += payload_bytes;
            }
            RecordType::RevisitIdentical => self.duplicates += 1,
            RecordType::RevisitNotModified => self.unmodified += 1,
        }
    }

    /// Version, sealed, then the numbers, 8 bytes each, big-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value = vec![VERSION, u8::from(self.sealed)];
        let counts = [
            self.records,
            self.payloads,
            self.payload_bytes,
            self.duplicates,
            self.unmodified,
        ];
        for number in [self.end_bytes, self.last_offset_bytes]
            .into_iter()
            .chain(counts)
        {
            value.extend_from_slice(&number.to_be_bytes());
        }
        value
    }

    pub(super) fn decode(key: &[u8], value: &[u8]) -> Option<(u32, Mark)> {
        let number = u32::from_be_bytes(key.strip_prefix(&[KEY_START])?.try_into().ok()?);
        let [VERSION, sealed @ (0 | 1), numbers @ ..] = value else {
            return None;
        };
        let mut read = [0; NUMBERS];
        if numbers.len() != NUMBERS * 8 {
            return None;
        }
        for (into, bytes) in read.iter_mut().zip(numbers.chunks_exact(8)) {
            *into = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        let [
            end_bytes,
            last_offset_bytes,
            records,
            payloads,
            payload_bytes,
            duplicates,
            unmodified,
        ] = read;
        let sealed = *sealed == 1;
        Some((
            number,
            Mark {
                end_bytes,
                last_offset_bytes,
                sealed,
                records,
                payloads,
                payload_bytes,
                duplicates,
                unmodified,
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_count_round_trip_and_other_forms_are_refused() {
        let mut mark = Mark::default();
        mark.add(RecordType::WarcInfo, 100, 0);
        mark.add(RecordType::Response, 50, 500);
        mark.add(RecordType::RevisitIdentical, 20, 500);
        mark.add(RecordType::RevisitNotModified, 10, 0);
        mark.sealed = true;
        assert_eq!(
            (mark.end_bytes, mark.last_offset_bytes, mark.records),
            (180, 170, 4)
        );
        assert_eq!(
            (
                mark.payloads,
                mark.payload_bytes,
                mark.duplicates,
                mark.unmodified
            ),
            (1, 500, 1, 1)
        );
        let value = mark.encode();
        assert_eq!(Mark::decode(&key(3), &value), Some((3, mark)));
        assert_eq!(Mark::decode(&key(3), &value[1..]), None);
        assert_eq!(Mark::decode(b"d0003", &value), None);
    }
}
