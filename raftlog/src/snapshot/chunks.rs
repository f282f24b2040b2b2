//! Chunks as they travel: numbered, checked, the first with what the whole is, the last marked.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use prost::Message;

use super::{Export, SnapshotData};
use crate::crc32c::crc32c;
use crate::errors::TransportError;
use crate::limits::MAX_SNAPSHOT_CHUNK_BYTES;
use crate::raft_types::{SnapshotMeta, Vote};
use crate::wire::{RangeMsg, SnapshotChunkMsg, SnapshotHeaderMsg, WireError, decode, encode};

/// Encodes an export. The stream ends early, without a last chunk, if reading fails.
pub(crate) fn encode_chunks(
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
    let ranges = ranges
        .into_iter()
        .map(|range| RangeMsg {
            start: range.start,
            end: range.end,
        })
        .collect();
    let header = SnapshotHeaderMsg {
        vote: vote.into(),
        meta: meta.into(),
        ranges,
    };
    let first = SnapshotChunkMsg {
        header: Some(header),
        ..SnapshotChunkMsg::default()
    };
    let _reader_gone = start.send(());
    let rows = futures::stream::unfold(Some((chunks, 1)), |state| async move {
        let (mut chunks, sequence) = state?;
        match chunks.recv().await {
            Some(Ok(rows)) => {
                let chunk = SnapshotChunkMsg {
                    sequence,
                    rows,
                    ..SnapshotChunkMsg::default()
                };
                Some((chunk, Some((chunks, sequence + 1))))
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

/// Encodes one chunk with its checksum.
pub(super) fn seal(mut chunk: SnapshotChunkMsg) -> Bytes {
    chunk.checksum = 0;
    chunk.checksum = crc32c(&chunk.encode_to_vec());
    encode(&chunk)
}

/// Decodes one chunk and checks it: size, checksum, place in the stream, header exactly in the first.
pub(super) fn open(bytes: &[u8], expected_sequence: u64) -> Result<SnapshotChunkMsg, WireError> {
    let wrong = |reason: &str| Err(WireError::new("snapshot chunk", reason));
    if bytes.len() > MAX_SNAPSHOT_CHUNK_BYTES {
        return wrong("over the size limit");
    }
    let mut chunk: SnapshotChunkMsg = decode("snapshot chunk", bytes)?;
    let checksum = std::mem::take(&mut chunk.checksum);
    if crc32c(&chunk.encode_to_vec()) != checksum {
        return wrong("checksum differs");
    }
    if chunk.sequence != expected_sequence {
        return wrong("out of order");
    }
    if chunk.header.is_some() != (expected_sequence == 0) {
        return wrong("header misplaced");
    }
    Ok(chunk)
}
