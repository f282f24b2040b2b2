//! Reading a group's rows from one view, on a thread of its own, as fast as they are taken.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{ChunkRows, Export, Exporter};
use crate::errors::StateError;
use crate::group::{AppliedState, Instance, load_applied};
use crate::limits::{SNAPSHOT_CHUNK_BYTES, SNAPSHOT_READ_AHEAD};
use crate::metrics::add;
use crate::raft_types::SnapshotMeta;
use crate::rows::KeyRange;
use crate::state::StateView;
use crate::wire::RowMsg;

type Sender = mpsc::Sender<Result<ChunkRows, StateError>>;

/// Opens a view of the group's rows; nothing of the group may be applied until this returns, so that the machine's
/// ranges belong to the view.
pub(crate) async fn export(instance: &Arc<Instance>) -> io::Result<(SnapshotMeta, Export)> {
    let (applied_sender, applied) = oneshot::channel();
    let (start, started) = oneshot::channel();
    let (sender, chunks) = mpsc::channel(SNAPSHOT_READ_AHEAD);
    let ranges = ranges_of(instance).await?;
    let (there, there_ranges) = (Arc::clone(instance), ranges.clone());
    let builder = std::thread::Builder::new().name("raft-snapshot".to_owned());
    builder.spawn(move || read(&there, &there_ranges, applied_sender, started, &sender))?;
    let applied: AppliedState = applied
        .await
        .map_err(io::Error::other)?
        .map_err(io::Error::other)?;
    Ok((
        applied.meta(),
        Export {
            ranges,
            start,
            chunks,
        },
    ))
}

impl Exporter for Instance {
    fn export(self: Arc<Self>) -> BoxFuture<'static, io::Result<(SnapshotMeta, Export)>> {
        Box::pin(async move { export(&self).await })
    }
}

async fn ranges_of(instance: &Arc<Instance>) -> io::Result<Vec<KeyRange>> {
    let there = Arc::clone(instance);
    let work = move || there.ranges();
    instance
        .shared
        .apply_lanes
        .run(instance.group_id, work)
        .await
        .map_err(io::Error::other)
}

fn read(
    instance: &Instance,
    ranges: &[KeyRange],
    applied: oneshot::Sender<Result<AppliedState, StateError>>,
    started: oneshot::Receiver<()>,
    sender: &Sender,
) {
    let db = match instance.shared.state_cell.get_at(instance.generation) {
        Ok(db) => db,
        Err(error) => {
            let _gone = applied.send(Err(error));
            return;
        }
    };
    let view = StateView::new(&db);
    let _gone = applied.send(load_applied(&view, instance.group_id));
    if started.blocking_recv().is_err() {
        return;
    }
    add(&instance.shared.counters.snapshots_sent, 1);
    let mut ranges = ranges.to_vec();
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    if let Err(Some(error)) = send_rows(&view, &ranges, sender) {
        let _gone = sender.blocking_send(Err(error));
    }
}

/// Sends all rows; `Err(None)` if nobody takes them any more.
fn send_rows(
    view: &StateView<'_>,
    ranges: &[KeyRange],
    sender: &Sender,
) -> Result<(), Option<StateError>> {
    let mut chunk = ChunkRows::new();
    let mut chunk_bytes = 0;
    for row in ranges.iter().flat_map(|range| view.iter(range)) {
        let (key, value) = row.map_err(Some)?;
        chunk_bytes += key.len() + value.len();
        chunk.push(RowMsg { key, value });
        if chunk_bytes >= SNAPSHOT_CHUNK_BYTES {
            sender
                .blocking_send(Ok(std::mem::take(&mut chunk)))
                .map_err(|_| None)?;
            chunk_bytes = 0;
        }
    }
    if chunk.is_empty() {
        Ok(())
    } else {
        sender.blocking_send(Ok(chunk)).map_err(|_| None)
    }
}
