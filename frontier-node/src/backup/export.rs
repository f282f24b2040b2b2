//! The rows of a shard in one view, sent in parts: memory holds a few of them, whatever the shard's size, and writes go on.

use std::sync::Arc;
use std::time::Duration;

use client::CallError;
use machine::ShardId;
use machine::backup::{self, BackupRow, Cut, RowList};
use prost::Message;
use raftlog::{KeyRange, StateView};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::errors::{state_error, unavailable};
use crate::limits::{EXPORT_PART_SIZE_BYTES, EXPORT_PARTS, EXPORT_STALL_MS};
use crate::node::FrontierNode;
use crate::shard::Shard;

/// An export that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export {
    pub(crate) shard: u64,
    /// Only what is kept when a backup begins.
    pub(crate) begin: bool,
}

/// What is sent of it, in this order.
pub(crate) enum ExportPart {
    /// The shard in the view, and up to where its log is applied there at least.
    Header(Cut, u64),
    /// Rows, as [`RowList`].
    Rows(Vec<u8>),
    /// How many rows there were.
    End(u64),
}

type Parts = mpsc::Sender<Result<ExportPart, CallError>>;

impl FrontierNode {
    /// Rows of a shard that this node leads. The view has all that was acknowledged before the call. Ends early if the reader takes
    /// nothing for long; `place` is kept until the end.
    ///
    /// # Errors
    ///
    /// This node does not lead the shard or cannot prove it.
    pub(crate) async fn export(
        &self,
        export: Export,
        place: OwnedSemaphorePermit,
    ) -> Result<mpsc::Receiver<Result<ExportPart, CallError>>, CallError> {
        let shard = self.shared_node().shard(export.shard)?;
        let term = proven(&shard)?;
        // What was committed before this proof is applied after it.
        if shard.confirm().await? != term {
            return Err(unavailable("leadership changed meanwhile"));
        }
        let applied_index = shard.group().status().applied_index;
        let (parts, receiver) = mpsc::channel(EXPORT_PARTS);
        let stop = self.shared_node().context.stop.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let sender = Sender {
                parts: parts.clone(),
                runtime: Handle::current(),
            };
            let read = shard.blocking(move |shared| {
                let _place = place;
                let read = shared
                    .parts
                    .db
                    .read(|view| sender.send_all(view, export, applied_index));
                read.map_err(|error| state_error(&error)).flatten()
            });
            if let Err(error) = read.await.flatten() {
                tracing::warn!(shard = export.shard, %error, "an export ended early");
                // Its reader may be gone.
                let _ = parts.try_send(Err(error));
            }
        }));
        Ok(receiver)
    }
}

/// The term in which this node leads the shard, proven by an entry of its own.
pub(super) fn proven(shard: &Arc<Shard>) -> Result<u64, CallError> {
    shard.leading()?;
    shard
        .proven_term()
        .ok_or_else(|| unavailable("the shard's leader has not recovered yet"))
}

struct Sender {
    parts: Parts,
    runtime: Handle,
}

impl Sender {
    fn send_all(
        &self,
        view: &StateView<'_>,
        export: Export,
        applied_index: u64,
    ) -> Result<(), CallError> {
        let id = ShardId(export.shard);
        let meta = view.get(&Cut::key(id)).map_err(|e| state_error(&e))?;
        let meta = meta.ok_or_else(|| unavailable("the shard has no rows here"))?;
        let cut = Cut::read(&meta).map_err(|error| unavailable(error.to_string()))?;
        if cut.is_being_restored {
            return Err(unavailable("the shard is being restored from a backup"));
        }
        let ranges = if export.begin {
            backup::begin_ranges(id, &cut)
        } else {
            backup::cut_ranges(id, &cut)
        };
        self.send(ExportPart::Header(cut, applied_index))?;
        let mut gathered = Gathered::default();
        for (from, to) in ranges {
            for row in view.iter(&KeyRange::new(from, to)) {
                let (key, value) = row.map_err(|error| state_error(&error))?;
                if let Some(full) = gathered.add(BackupRow { key, value }) {
                    self.send(ExportPart::Rows(full))?;
                }
            }
        }
        if let Some(rest) = gathered.take() {
            self.send(ExportPart::Rows(rest))?;
        }
        self.send(ExportPart::End(gathered.count))
    }

    /// Waits for the reader, but not for ever: the view keeps old versions of rows.
    fn send(&self, part: ExportPart) -> Result<(), CallError> {
        let longest = Duration::from_millis(EXPORT_STALL_MS);
        let sent = self
            .runtime
            .block_on(async { tokio::time::timeout(longest, self.parts.send(Ok(part))).await });
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(unavailable("the reader of the export went away")),
            Err(_) => Err(unavailable("the reader of the export takes nothing more")),
        }
    }
}

/// Rows of the next part.
#[derive(Default)]
struct Gathered {
    list: RowList,
    size_bytes: usize,
    count: u64,
}

impl Gathered {
    /// The part that is full with this row.
    fn add(&mut self, row: BackupRow) -> Option<Vec<u8>> {
        self.size_bytes += row.key.len() + row.value.len();
        self.count += 1;
        self.list.rows.push(row);
        (self.size_bytes >= EXPORT_PART_SIZE_BYTES).then(|| self.take())?
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.size_bytes = 0;
        let list = std::mem::take(&mut self.list);
        (!list.rows.is_empty()).then(|| list.encode_to_vec())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(size_bytes: usize) -> BackupRow {
        BackupRow {
            key: vec![b'S'; 17],
            value: vec![1; size_bytes],
        }
    }

    #[test]
    fn parts_are_bounded_and_hold_every_row_once() {
        let mut gathered = Gathered::default();
        let sizes = [1, 100_000, 200_000, 5, 400_000, 7];
        let mut parts: Vec<Vec<u8>> = Vec::new();
        parts.extend(sizes.into_iter().filter_map(|size| gathered.add(row(size))));
        parts.extend(gathered.take());
        assert!(gathered.take().is_none());
        let lists = parts
            .iter()
            .map(|part| RowList::decode(part.as_slice()).unwrap());
        let held: Vec<Vec<usize>> = lists
            .map(|list| list.rows.iter().map(|row| row.value.len()).collect())
            .collect();
        assert_eq!(held, [vec![1, 100_000, 200_000], vec![5, 400_000], vec![7]]);
        assert_eq!(gathered.count, 6);
        let largest = EXPORT_PART_SIZE_BYTES + machine::limits::ROBOTS_BODY_SIZE_BYTES + 1_024;
        assert!(largest < machine::limits::RESTORE_BATCH_SIZE_BYTES);
    }
}
