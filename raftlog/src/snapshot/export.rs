//! Reading a group's rows from one view, on a thread of its own, as fast as they are taken.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::held::{HeldRows, Way};
use super::{ChunkRows, Export, Exporter};
use crate::errors::StateError;
use crate::group::{AppliedState, Instance, load_applied};
use crate::limits::{SNAPSHOT_CHUNK_BYTES, SNAPSHOT_READ_AHEAD};
use crate::metrics::add;
use crate::raft_types::SnapshotMeta;
use crate::rows::KeyRange;
use crate::state::StateView;
use crate::wire::RowMsg;

type Sender = mpsc::Sender<Result<HeldRows, StateError>>;

/// Opens a view of the group's rows; nothing of the group may be applied until this returns, so that the machine's
/// ranges belong to the view.
pub(crate) async fn export(instance: &Arc<Instance>) -> io::Result<(SnapshotMeta, Export)> {
    let (applied_sender, applied) = oneshot::channel();
    let (start, started) = oneshot::channel();
    let (sender, chunks) = mpsc::channel(SNAPSHOT_READ_AHEAD);
    let ranges = ranges_of(instance).await?;
    if instance.shared.options.threads.is_inline() {
        let meta = read_inline(instance, &ranges, started, sender)?.meta();
        return Ok((
            meta,
            Export {
                ranges,
                start,
                chunks,
            },
        ));
    }
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
    let send = |rows| {
        let rows = HeldRows::new(&instance.shared.counters, Way::Out, rows);
        sender.blocking_send(Ok(rows)).map_err(|_| None)
    };
    if let Err(Some(error)) = send_rows(&view, &ranges, send) {
        let _gone = sender.blocking_send(Err(error));
    }
}

/// Reads all at once on the spot, and sends it in a task: a simulation's rows are few.
fn read_inline(
    instance: &Arc<Instance>,
    ranges: &[KeyRange],
    started: oneshot::Receiver<()>,
    sender: Sender,
) -> io::Result<AppliedState> {
    let db = instance.shared.state_cell.get_at(instance.generation);
    let db = db.map_err(io::Error::other)?;
    let view = StateView::new(&db);
    let applied = load_applied(&view, instance.group_id).map_err(io::Error::other)?;
    let mut ranges = ranges.to_vec();
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    let mut read = Vec::new();
    let keep = |rows| {
        read.push(HeldRows::new(&instance.shared.counters, Way::Out, rows));
        Ok(())
    };
    if let Err(Some(error)) = send_rows(&view, &ranges, keep) {
        return Err(io::Error::other(error));
    }
    let counters = Arc::clone(&instance.shared.counters);
    tokio::spawn(async move {
        if started.await.is_err() {
            return;
        }
        add(&counters.snapshots_sent, 1);
        for chunk in read {
            if sender.send(Ok(chunk)).await.is_err() {
                return;
            }
        }
    });
    Ok(applied)
}

/// Sends all rows; `Err(None)` if nobody takes them any more.
fn send_rows(
    view: &StateView<'_>,
    ranges: &[KeyRange],
    mut send: impl FnMut(ChunkRows) -> Result<(), Option<StateError>>,
) -> Result<(), Option<StateError>> {
    let mut chunk = ChunkRows::new();
    let mut chunk_bytes = 0;
    for row in ranges.iter().flat_map(|range| view.iter(range)) {
        let (key, value) = row.map_err(Some)?;
        chunk_bytes += key.len() + value.len();
        chunk.push(RowMsg { key, value });
        if chunk_bytes >= SNAPSHOT_CHUNK_BYTES {
            send(std::mem::take(&mut chunk))?;
            chunk_bytes = 0;
        }
    }
    if chunk.is_empty() {
        Ok(())
    } else {
        send(chunk)
    }
}
