//! Receiving a snapshot: stage all chunks, check that it is whole, then hand it to Raft.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use openraft::storage::Snapshot;

use super::chunks::open;
use super::foreign::foreign_owner;
use super::held::{HeldRows, Way};
use super::stage::{StageError, Stager};
use super::{SnapshotData, stage::Staged};
use crate::engine::{Shared, check_target};
use crate::errors::TransportError;
use crate::group::Running;
use crate::raft_types::{SnapshotMeta, Vote};
use crate::rows::KeyRange;
use crate::wire::{SnapshotReplyMsg, WireError, encode};

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
    let ranges: Vec<KeyRange> = header.ranges.into_iter().map(KeyRange::from).collect();
    refuse_foreign_rows(running, ranges.clone()).await?;
    let staged = stage(shared, header.meta.into(), ranges, chunks).await?;
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

/// Refuses a snapshot of rows that are another group's here: a parent that has not applied the split, or a replica whose
/// removal is due. Asked before anything is staged, since the refusal of an install would stop the group.
async fn refuse_foreign_rows(
    running: &Running,
    ranges: Vec<KeyRange>,
) -> Result<(), TransportError> {
    let instance = Arc::clone(&running.instance);
    let group_id = instance.group_id;
    let lanes = Arc::clone(&instance.shared.read_lanes);
    let look = move || foreign_owner(&instance, ranges.iter());
    let owner = lanes.run(group_id, look).await.map_err(remote)?;
    match owner.map_err(remote)? {
        None => Ok(()),
        Some(owner) => Err(remote(format!("group {owner} owns rows of the snapshot"))),
    }
}

async fn stage(
    shared: &Arc<Shared>,
    meta: SnapshotMeta,
    ranges: Vec<KeyRange>,
    mut chunks: BoxStream<'static, Bytes>,
) -> Result<Staged, TransportError> {
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
