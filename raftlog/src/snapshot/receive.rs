//! Receiving a snapshot: stage all chunks, check that it is whole, then hand it to Raft.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use openraft::storage::Snapshot;

use super::chunks::open;
use super::held::{HeldRows, Way};
use super::stage::{StageError, Stager};
use super::{SnapshotData, stage::Staged};
use crate::engine::{Shared, check_target};
use crate::errors::TransportError;
use crate::group::Running;
use crate::raft_types::{SnapshotMeta, Vote};
use crate::rows::KeyRange;
use crate::wire::{SnapshotHeaderMsg, SnapshotReplyMsg, WireError, encode};

fn malformed(error: &WireError) -> TransportError {
    TransportError::Malformed(error.to_string())
}

fn remote(error: impl std::fmt::Display) -> TransportError {
    TransportError::Remote(error.to_string())
}

/// Takes a snapshot's chunks to the end and installs it.
pub(crate) async fn receive(
    shared: &Arc<Shared>,
    running: &Running,
    mut chunks: BoxStream<'static, Bytes>,
) -> Result<Bytes, TransportError> {
    let first = chunks.next().await.ok_or_else(broke_off)?;
    let first = open(&first, 0).map_err(|error| malformed(&error))?;
    let header = first.header.ok_or_else(broke_off)?;
    check_target(running, header.to)?;
    let vote: Vote = header.vote.into();
    let staged = stage(shared, header, chunks).await?;
    let meta = staged.meta.clone();
    let snapshot = Snapshot {
        meta,
        snapshot: SnapshotData::Staged(staged),
    };
    let response = running
        .raft
        .install_full_snapshot(vote, snapshot)
        .await
        .map_err(remote)?;
    Ok(encode(&SnapshotReplyMsg {
        vote: (&response.vote).into(),
    }))
}

fn broke_off() -> TransportError {
    TransportError::Malformed("the snapshot broke off".to_owned())
}

async fn stage(
    shared: &Arc<Shared>,
    header: SnapshotHeaderMsg,
    mut chunks: BoxStream<'static, Bytes>,
) -> Result<Staged, TransportError> {
    let meta: SnapshotMeta = header.meta.into();
    let ranges = header.ranges.into_iter().map(KeyRange::from).collect();
    let failed = |error: StageError| remote(error);
    let mut stager = Stager::start(shared, meta, ranges).map_err(failed)?;
    let mut sequence = 1;
    loop {
        let bytes = chunks.next().await.ok_or_else(broke_off)?;
        let chunk = open(&bytes, sequence).map_err(|error| malformed(&error))?;
        drop(bytes);
        if !chunk.rows.is_empty() {
            let rows = HeldRows::new(&shared.counters, Way::In, chunk.rows);
            stager.add(rows).await.map_err(failed)?;
        }
        if chunk.last {
            return stager.finish().await.map_err(failed);
        }
        sequence += 1;
    }
}
