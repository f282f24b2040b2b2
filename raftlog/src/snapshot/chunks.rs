//! Chunks as they travel: numbered, checked, the first with what the whole is, the last marked.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use prost::Message;

use super::held::HeldRows;
use super::{Export, SnapshotData};
use crate::crc32c::crc32c;
use crate::errors::TransportError;
use crate::ids::NodeId;
use crate::limits::MAX_SNAPSHOT_CHUNK_BYTES;
use crate::raft_types::{SnapshotMeta, Vote};
use crate::wire::{RangeMsg, SnapshotChunkMsg, SnapshotHeaderMsg, WireError, decode};

/// Encodes an export for a replica. The stream ends early, without a last chunk, if reading fails.
pub(crate) fn encode_chunks(
    to: NodeId,
    vote: &Vote,
    meta: &SnapshotMeta,
    data: SnapshotData,
) -> Result<BoxStream<'static, Bytes>, TransportError> {
    let SnapshotData::Export(Export {
        ranges,
        start,
        chunks,
    }) = data
    else {
        return Err(TransportError::Remote(
            "the snapshot is not one to be sent".to_owned(),
        ));
    };
    let header = SnapshotHeaderMsg {
        vote: vote.into(),
        meta: meta.into(),
        ranges: ranges.into_iter().map(RangeMsg::from).collect(),
        to,
    };
    let first = SnapshotChunkMsg {
        header: Some(header),
        ..SnapshotChunkMsg::default()
    };
    let _reader_gone = start.send(());
    // Rows count as held until the next chunk is asked for: only then is this one off.
    let rows = futures::stream::unfold(Some((chunks, 1, None)), |state| async move {
        let (mut chunks, sequence, sent) = state?;
        drop(sent);
        match chunks.recv().await {
            Some(Ok(HeldRows { rows, held })) => {
                let chunk = SnapshotChunkMsg {
                    sequence,
                    rows,
                    ..SnapshotChunkMsg::default()
                };
                Some((chunk, Some((chunks, sequence + 1, Some(held)))))
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "a snapshot could not be read to its end");
                None
            }
            None => Some((
                SnapshotChunkMsg {
                    sequence,
                    last: true,
                    ..SnapshotChunkMsg::default()
                },
                None,
            )),
        }
    });
    Ok(futures::stream::iter([first]).chain(rows).map(seal).boxed())
}

/// First byte of the checksum's field: field 5, four bytes.
const CHECKSUM_TAG: u8 = 5 << 3 | 5;
/// The checksum's field, which is always there and always the last.
const CHECKSUM_FIELD_BYTES: usize = 5;

/// Encodes one chunk with the checksum of everything before it.
pub(super) fn seal(mut chunk: SnapshotChunkMsg) -> Bytes {
    chunk.checksum = 0;
    let mut bytes = chunk.encode_to_vec();
    drop(chunk);
    bytes.reserve_exact(CHECKSUM_FIELD_BYTES);
    let checksum = crc32c(&bytes);
    bytes.push(CHECKSUM_TAG);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.into()
}

/// Decodes one chunk and checks it: size, checksum, place in the stream, header exactly in the first.
pub(super) fn open(bytes: &[u8], expected_sequence: u64) -> Result<SnapshotChunkMsg, WireError> {
    let wrong = |reason: &str| Err(WireError::new("snapshot chunk", reason));
    if bytes.len() > MAX_SNAPSHOT_CHUNK_BYTES {
        return wrong("over the size limit");
    }
    let Some((body, [CHECKSUM_TAG, checksum @ ..])) =
        bytes.split_last_chunk::<CHECKSUM_FIELD_BYTES>()
    else {
        return wrong("no checksum");
    };
    if crc32c(body) != u32::from_le_bytes(*checksum) {
        return wrong("checksum differs");
    }
    let chunk: SnapshotChunkMsg = decode("snapshot chunk", body)?;
    if chunk.sequence != expected_sequence {
        return wrong("out of order");
    }
    if chunk.header.is_some() != (expected_sequence == 0) {
        return wrong("header misplaced");
    }
    Ok(chunk)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::RowMsg;

    fn chunk(sequence: u64) -> SnapshotChunkMsg {
        let row = RowMsg {
            key: vec![7, 1],
            value: b"value".to_vec(),
        };
        SnapshotChunkMsg {
            sequence,
            rows: vec![row],
            ..SnapshotChunkMsg::default()
        }
    }

    /// case L25: no changed byte, no cut and no other place in the stream is taken for a chunk.
    #[test]
    fn a_chunk_is_taken_whole_and_in_its_place_only() {
        let sealed = seal(chunk(3));
        assert_eq!(open(&sealed, 3).unwrap().rows, chunk(3).rows);
        for place in 0..sealed.len() {
            let mut bad = sealed.to_vec();
            bad[place] ^= 0x10;
            assert!(open(&bad, 3).is_err(), "byte {place}");
            assert!(open(&sealed[..place], 3).is_err(), "cut at {place}");
        }
        assert!(open(&[&sealed[..], &[0]].concat(), 3).is_err());
        assert!(open(&sealed, 2).unwrap_err().to_string().contains("order"));
        assert!(open(&sealed, 4).is_err());
        assert!(open(&seal(chunk(0)), 0).is_err(), "the first has a header");
    }
}
