//! A run of records as bytes of a file, places and rows.

use crate::digest::Digest;
use crate::index::Row;
use crate::page::Place;
use crate::prepare::ReadyRecord;
use crate::warc::GROUP_START_OFFSET;

use super::Active;
use crate::index::Mark;

/// The bytes of a run, each record told where the run begins; the records' places; the mark after them.
pub(super) fn lay_out(run: &[&ReadyRecord], active: &Active) -> (Vec<u8>, Vec<Place>, Mark) {
    let mut mark = active.mark;
    let group_start = mark.end_bytes.to_le_bytes();
    let mut bytes = Vec::with_capacity(run.iter().map(|record| record.member.0.len()).sum());
    let mut places = Vec::with_capacity(run.len());
    for record in run {
        let at = bytes.len();
        let size_bytes = record.member.0.len() as u64;
        bytes.extend_from_slice(&record.member.0);
        bytes[at + GROUP_START_OFFSET..at + GROUP_START_OFFSET + 8].copy_from_slice(&group_start);
        places.push(Place {
            segment: active.number,
            offset_bytes: mark.end_bytes,
            size_bytes,
        });
        mark.add(record.record_type, size_bytes, record.payload_bytes);
    }
    (bytes, places, mark)
}

pub(super) fn rows(run: &[&ReadyRecord], places: &[Place]) -> impl Iterator<Item = (Digest, Row)> {
    run.iter().zip(places).filter_map(|(record, place)| {
        let first = record.first.as_ref()?;
        let (captured_at_unix_ms, url) = (first.captured_at_unix_ms, first.url.clone());
        Some((
            record.digest,
            Row {
                place: *place,
                captured_at_unix_ms,
                id: first.id,
                url,
            },
        ))
    })
}
