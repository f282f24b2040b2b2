//! The machine as openraft sees it.

use std::io;
use std::sync::Arc;

use futures::{Stream, StreamExt, TryStreamExt};
use openraft::OptionalSend;
use openraft::storage::{
    ApplyResponder, EntryResponder, RaftSnapshotBuilder, RaftStateMachine, Snapshot,
};

use super::instance::Instance;
use crate::errors::StopReason;
use crate::lanes::LaneError;
use crate::limits::{MAX_APPLY_BYTES, MAX_APPLY_ENTRIES};
use crate::raft_types::{Entry, LogId, ReplyBytes, SnapshotMeta, StoredMembership, TypeConfig};
use crate::snapshot::{self, SnapshotData};

/// Handle of a group's machine and rows for openraft.
#[derive(Clone)]
pub(crate) struct StateStore {
    pub(crate) instance: Arc<Instance>,
}

type SnapshotWithData = openraft::alias::SnapshotOf<TypeConfig, SnapshotData>;
type Piece = (Vec<Entry>, Vec<Option<ApplyResponder<TypeConfig>>>);

impl StateStore {
    async fn apply_piece(&self, (entries, responders): Piece) -> io::Result<()> {
        let instance = Arc::clone(&self.instance);
        let work = move || instance.apply(&entries);
        let lanes = &self.instance.shared.apply_lanes;
        let replies = lanes
            .run(self.instance.group_id, work)
            .await
            .map_err(|error| self.lane_error(error))?;
        for (responder, reply) in responders
            .into_iter()
            .zip(replies.map_err(io::Error::other)?)
        {
            if let Some(responder) = responder {
                responder.send(ReplyBytes(reply));
            }
        }
        Ok(())
    }

    fn lane_error(&self, error: LaneError) -> io::Error {
        if let LaneError::Panicked(text) = &error {
            self.instance
                .stop_with(StopReason::Machine(format!("panicked: {text}")));
        }
        io::Error::other(error)
    }
}

/// Takes entries that go into one batch.
async fn next_piece<S>(entries: &mut S) -> io::Result<Piece>
where
    S: Stream<Item = Result<EntryResponder<TypeConfig>, io::Error>> + Unpin,
{
    let mut piece = Piece::default();
    let mut taken_bytes = 0;
    while taken_bytes < MAX_APPLY_BYTES && piece.0.len() < MAX_APPLY_ENTRIES {
        let Some((entry, responder)) = entries.try_next().await? else {
            break;
        };
        if let openraft::EntryPayload::Normal(payload) = &entry.payload {
            taken_bytes += payload.0.len();
        }
        piece.0.push(entry);
        piece.1.push(responder);
    }
    Ok(piece)
}

impl RaftStateMachine<TypeConfig> for StateStore {
    type SnapshotData = SnapshotData;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        let applied = self.instance.applied.lock().clone();
        Ok((applied.log_id, applied.membership))
    }

    async fn apply<S>(&mut self, entries: S) -> io::Result<()>
    where
        S: Stream<Item = Result<EntryResponder<TypeConfig>, io::Error>> + Unpin + OptionalSend,
    {
        let mut entries = entries.fuse();
        loop {
            let piece = next_piece(&mut entries).await?;
            if piece.0.is_empty() {
                return Ok(());
            }
            self.apply_piece(piece).await?;
        }
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        data: SnapshotData,
    ) -> io::Result<()> {
        snapshot::install(&self.instance, meta, data).await
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotWithData>> {
        if self.instance.applied.lock().log_id.is_none() {
            return Ok(None);
        }
        let (meta, data) = snapshot::export(&self.instance).await?;
        Ok(Some(Snapshot {
            meta,
            snapshot: SnapshotData::Export(data),
        }))
    }
}

impl RaftSnapshotBuilder<TypeConfig> for StateStore {
    type SnapshotData = SnapshotData;

    /// To build a snapshot is to flush: the rows on disk are the snapshot that a restart begins from.
    async fn build_snapshot(&mut self) -> io::Result<SnapshotWithData> {
        let applied = self.instance.applied.lock().log_id;
        if self.instance.purgeable().log_id < applied {
            self.instance
                .shared
                .flusher
                .flush()
                .await
                .map_err(io::Error::other)?;
        }
        let meta = self.instance.purgeable().meta();
        Ok(Snapshot {
            meta,
            snapshot: SnapshotData::Flushed(self.instance.clone()),
        })
    }
}
