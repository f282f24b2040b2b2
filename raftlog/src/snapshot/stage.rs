//! Staging: rows of a snapshot go into table files beside the database, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rocksdb::{Options, SstFileWriter};
use tokio::sync::{mpsc, oneshot};

use super::held::HeldRows;
use crate::engine::Shared;
use crate::limits::{MAX_GROUP_RANGES, MAX_KEY_BYTES, STAGED_FILE_BYTES};
use crate::raft_types::SnapshotMeta;
use crate::rows::KeyRange;
use crate::state::{table_options, user_key};

/// Why rows could not be staged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    #[error("staged snapshot: {0}")]
    Db(#[from] rocksdb::Error),
    #[error("staged snapshot: {0}")]
    Io(#[from] std::io::Error),
    #[error("staged snapshot: {0}")]
    Rows(&'static str),
}

/// A snapshot whose rows are all in files. The files go with it, unless they were ingested.
pub(crate) struct Staged {
    pub(super) dir: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) ranges: Vec<KeyRange>,
    pub(super) meta: SnapshotMeta,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            tracing::warn!(dir = %self.dir.display(), %error, "a staged snapshot was not removed");
        }
    }
}

/// Takes rows for a snapshot. Dropping it gives up.
pub(super) struct Stager(Writer);

enum Writer {
    Thread {
        rows: mpsc::Sender<HeldRows>,
        done: oneshot::Receiver<Result<Staged, StageError>>,
    },
    /// Kept until all rows are there, then written on the spot: a simulation's rows are few.
    Inline {
        rows: Vec<HeldRows>,
        staged: Staged,
        options: Box<Options>,
    },
}

impl Stager {
    /// Begins a snapshot of these ranges.
    pub(super) fn start(
        shared: &Arc<Shared>,
        meta: SnapshotMeta,
        ranges: Vec<KeyRange>,
    ) -> Result<Self, StageError> {
        check_ranges(&ranges)?;
        let number = shared.staged.fetch_add(1, Ordering::Relaxed);
        let dir = shared.staging_dir().join(number.to_string());
        std::fs::create_dir_all(&dir)?;
        let staged = Staged {
            dir,
            files: Vec::new(),
            ranges,
            meta,
        };
        let options = table_options(&shared.options, &shared.state_cache);
        if shared.options.threads.is_inline() {
            return Ok(Self(Writer::Inline {
                rows: Vec::new(),
                staged,
                options: Box::new(options),
            }));
        }
        let (rows, mut incoming) = mpsc::channel(1);
        let (sender, done) = oneshot::channel();
        let builder = std::thread::Builder::new().name("raft-stage".to_owned());
        builder.spawn(move || {
            let _gone = sender.send(write_all(staged, &options, || incoming.blocking_recv()));
        })?;
        Ok(Self(Writer::Thread { rows, done }))
    }

    /// Adds rows, above all before.
    pub(super) async fn add(&mut self, chunk: HeldRows) -> Result<(), StageError> {
        match &mut self.0 {
            Writer::Inline { rows, .. } => {
                rows.push(chunk);
                Ok(())
            }
            Writer::Thread { rows, done } => {
                if rows.send(chunk).await.is_ok() {
                    return Ok(());
                }
                let reason = done.await.map_or(None, Result::err);
                Err(reason.unwrap_or(StageError::Rows("the writer ended")))
            }
        }
    }

    /// All rows were added.
    pub(super) async fn finish(self) -> Result<Staged, StageError> {
        match self.0 {
            Writer::Inline {
                rows,
                staged,
                options,
            } => {
                let mut rows = rows.into_iter();
                write_all(staged, &options, || rows.next())
            }
            Writer::Thread { rows, done } => {
                drop(rows);
                done.await
                    .unwrap_or(Err(StageError::Rows("the writer ended")))
            }
        }
    }
}

fn check_ranges(ranges: &[KeyRange]) -> Result<(), StageError> {
    if ranges.len() > MAX_GROUP_RANGES {
        return Err(StageError::Rows("too many ranges"));
    }
    let too_long = |range: &KeyRange| range.start.len() > MAX_KEY_BYTES;
    if ranges.iter().any(too_long) {
        Err(StageError::Rows("a range's key is too long"))
    } else {
        Ok(())
    }
}

fn write_all(
    mut staged: Staged,
    options: &Options,
    mut incoming: impl FnMut() -> Option<HeldRows>,
) -> Result<Staged, StageError> {
    let mut last_key: Option<Vec<u8>> = None;
    let mut pending = incoming();
    while pending.is_some() {
        let path = staged
            .dir
            .join(format!("{:06}.sst", staged.files.len() + 1));
        write_file(
            &staged.ranges,
            options,
            &path,
            &mut pending,
            &mut incoming,
            &mut last_key,
        )?;
        staged.files.push(path);
    }
    Ok(staged)
}

/// Writes one file until it is full or no rows come.
fn write_file(
    ranges: &[KeyRange],
    options: &Options,
    path: &Path,
    pending: &mut Option<HeldRows>,
    incoming: &mut impl FnMut() -> Option<HeldRows>,
    last_key: &mut Option<Vec<u8>>,
) -> Result<(), StageError> {
    let mut writer = SstFileWriter::create(options);
    writer.open(path)?;
    let mut size_bytes = 0;
    while let Some(HeldRows { rows, held }) = pending.take() {
        for row in rows {
            if last_key.as_ref().is_some_and(|last| *last >= row.key) {
                return Err(StageError::Rows("rows are out of order"));
            }
            if !ranges.iter().any(|range| range.contains(&row.key)) {
                return Err(StageError::Rows("a row lies outside the ranges"));
            }
            size_bytes += (row.key.len() + row.value.len()) as u64;
            writer.put(user_key(&row.key), &row.value)?;
            *last_key = Some(row.key);
        }
        drop(held);
        *pending = incoming();
        if size_bytes >= STAGED_FILE_BYTES {
            break;
        }
    }
    writer.finish()?;
    Ok(())
}
