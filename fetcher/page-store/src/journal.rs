//! Appending to segments: one fsync a run of records, rotation between records, and what happens when the disk refuses.
//!
//! The active segment is good up to its mark's end, which is synced and indexed. A run is written beyond it, synced, indexed, and
//! only then does the mark move. When a step fails, nobody is told "stored", and
//!
//! - after a failed **write** (or index batch) the file is cut back to the mark, at once or before the next run;
//! - after a failed **sync** the file is never written again, for the system may have dropped the bytes and may call the next sync of
//!   them a success. It is cut and sealed at the mark, and the run is written once more, into a new segment.

mod append_error;
mod layout;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::disk::Disk;
use crate::index::{Index, Mark};
use crate::page::Place;
use crate::prepare::ReadyRecord;
use crate::segment;
use crate::warc::{RecordIds, RecordType, WarcInfo};

pub(crate) use append_error::AppendError;
use layout::{lay_out, rows};

/// What a journal needs to know of its store.
pub(crate) struct JournalSettings {
    pub(crate) dir: PathBuf,
    pub(crate) segment_max_size_bytes: u64,
    pub(crate) min_free_bytes: u64,
    pub(crate) index_flush_size_bytes: u64,
    pub(crate) index_flush_interval: Duration,
    pub(crate) compression_level: u32,
    pub(crate) software: String,
    pub(crate) store_id: [u8; 16],
}

/// The segment that is appended to.
pub(crate) struct Active {
    pub(crate) number: u32,
    pub(crate) file: File,
    pub(crate) mark: Mark,
    /// Bytes may lie beyond the mark: cut before writing.
    dirty: bool,
}

/// See the module.
pub(crate) struct Journal<D> {
    disk: D,
    settings: JournalSettings,
    index: Arc<Index>,
    ids: Arc<RecordIds>,
    active: Option<Active>,
    /// A segment that gets no more records and is not yet sealed in the index.
    retired: Option<(u32, Mark)>,
    next_number: u32,
    unflushed_bytes: u64,
    flush_at: Option<Instant>,
    fsyncs: Arc<AtomicU64>,
}

enum Failure {
    /// The segment can be cut and used again.
    Cut(AppendError),
    /// The segment cannot be trusted beyond its mark any more.
    Sync(AppendError),
}

impl Active {
    pub(crate) fn new(number: u32, file: File, mark: Mark) -> Active {
        Active {
            number,
            file,
            mark,
            dirty: false,
        }
    }
}

impl<D: Disk> Journal<D> {
    pub(crate) fn new(
        disk: D,
        settings: JournalSettings,
        index: Arc<Index>,
        ids: Arc<RecordIds>,
        fsyncs: Arc<AtomicU64>,
    ) -> Journal<D> {
        let (active, retired, flush_at) = (None, None, None);
        Journal {
            disk,
            settings,
            index,
            ids,
            active,
            retired,
            next_number: 1,
            unflushed_bytes: 0,
            flush_at,
            fsyncs,
        }
    }

    /// Goes on where recovery ended.
    pub(crate) fn resume(&mut self, active: Option<Active>, next_number: u32) {
        self.active = active;
        self.next_number = next_number;
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }

    /// Makes sure that the first of these records has a segment, and says how many of them fit there.
    pub(crate) fn make_room(
        &mut self,
        sizes_bytes: impl Iterator<Item = u64>,
    ) -> Result<usize, AppendError> {
        self.check_free()?;
        let mut sizes_bytes = sizes_bytes.peekable();
        let first_bytes = sizes_bytes.peek().copied().unwrap_or(0);
        let max_bytes = self.settings.segment_max_size_bytes;
        // A segment that has only its warcinfo takes any record, or a large one would never find a place.
        let is_fit = |mark: &Mark| mark.records <= 1 || mark.end_bytes + first_bytes <= max_bytes;
        if self
            .active
            .as_ref()
            .is_some_and(|active| !is_fit(&active.mark))
        {
            self.retire();
        }
        let mut end_bytes = self.active()?.mark.end_bytes;
        let mut count = 0;
        for size_bytes in sizes_bytes {
            end_bytes += size_bytes;
            if count > 0 && end_bytes > max_bytes {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    /// Makes these records durable and known, all or none.
    pub(crate) fn append(&mut self, run: &[&ReadyRecord]) -> Result<Vec<Place>, AppendError> {
        let outcome = match self.append_once(run) {
            Err(Failure::Sync(error)) => {
                tracing::error!(error = %error.what, "fsync failed; writing the same records to a new segment");
                self.retire();
                self.append_once(run)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(places) => Ok(places),
            Err(Failure::Cut(error)) => Err(error),
            Err(Failure::Sync(error)) => {
                self.retire();
                Err(error)
            }
        }
    }

    /// Refuses while others need what is left of the disk. A system that does not say what is left is not asked for more.
    fn check_free(&self) -> Result<(), AppendError> {
        let (dir, needed_bytes) = (&self.settings.dir, self.settings.min_free_bytes);
        if needed_bytes == 0 {
            return Ok(());
        }
        match self.disk.free_bytes(dir) {
            Ok(free_bytes) if free_bytes < needed_bytes => {
                Err(AppendError::low(dir, free_bytes, needed_bytes))
            }
            _ => Ok(()),
        }
    }

    fn append_once(&mut self, run: &[&ReadyRecord]) -> Result<Vec<Place>, Failure> {
        self.active().map_err(Failure::Cut)?;
        let Some(active) = self.active.as_mut() else {
            return Err(Failure::Cut(AppendError::other(
                "open a segment".to_owned(),
            )));
        };
        if active.dirty {
            cut(&self.disk, active).map_err(Failure::Cut)?;
        }
        let (bytes, places, mark) = lay_out(run, active);
        // From here on the file may hold more than its mark says.
        active.dirty = true;
        if let Err(error) = self.disk.append(&mut active.file, &bytes) {
            let error = AppendError::io("write", active.number, &error);
            // The space is needed; if cutting fails, the next run tries again.
            let _ = cut(&self.disk, active);
            return Err(Failure::Cut(error));
        }
        self.fsyncs.fetch_add(1, Ordering::Relaxed);
        self.disk
            .sync_data(&active.file)
            .map_err(|error| Failure::Sync(AppendError::io("sync", active.number, &error)))?;
        if let Err(error) = self.index.commit(rows(run, &places), active.number, mark) {
            let _ = cut(&self.disk, active);
            return Err(Failure::Cut(error.into()));
        }
        active.mark = mark;
        active.dirty = false;
        self.unflushed_bytes += bytes.len() as u64;
        self.flush_at
            .get_or_insert_with(|| Instant::now() + self.settings.index_flush_interval);
        if self.unflushed_bytes >= self.settings.index_flush_size_bytes {
            self.flush_index();
        }
        Ok(places)
    }

    /// When the index must be flushed, if anything changed.
    pub(crate) fn flush_at(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Starts a flush of the index. If it fails, only a later opening reads more; the next flush tries again.
    pub(crate) fn flush_index(&mut self) {
        if let Err(error) = self.index.start_flush() {
            tracing::warn!(%error, "cannot flush the page index");
        }
        self.unflushed_bytes = 0;
        self.flush_at = None;
    }

    /// The active segment; seals a retired one and creates a new one as needed.
    fn active(&mut self) -> Result<&Active, AppendError> {
        if let Some((number, mark)) = self.retired {
            // The seal must be durable before the next segment exists: opening takes all but the last segment for complete.
            self.index.commit(
                [],
                number,
                Mark {
                    sealed: true,
                    ..mark
                },
            )?;
            self.index.flush()?;
            self.retired = None;
        }
        let active = match self.active.take() {
            Some(active) => active,
            None => self.create_next()?,
        };
        Ok(self.active.insert(active))
    }

    fn create_next(&mut self) -> Result<Active, AppendError> {
        let number = self.next_number;
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let info = WarcInfo {
            id: self.ids.next(),
            file_name: &segment::file_name(number),
            created_at_unix_ms: since_epoch.as_millis() as u64,
            software: &self.settings.software,
            store_id: &self.settings.store_id,
        };
        let member = info
            .encode(self.settings.compression_level)
            .map_err(|error| AppendError::other(error.to_string()))?;
        self.fsyncs.fetch_add(1, Ordering::Relaxed);
        let created = segment::create(&self.disk, &self.settings.dir, number, &member);
        let file = created.map_err(|error| AppendError::io("create", number, &error))?;
        self.next_number += 1;
        let mut mark = Mark::default();
        mark.add(RecordType::WarcInfo, member.0.len() as u64, 0);
        Ok(Active::new(number, file, mark))
    }

    /// Ends the active segment at its mark.
    fn retire(&mut self) {
        if let Some(mut active) = self.active.take() {
            if active.dirty
                && let Err(error) = cut(&self.disk, &mut active)
            {
                // The seal says where it ends; the next opening cuts it.
                tracing::warn!(error = %error.what, "cannot cut a segment that is closed");
            }
            // A segment without a mark row has only its warcinfo record; its seal makes one.
            self.retired = Some((active.number, active.mark));
        }
    }
}

fn cut<D: Disk>(disk: &D, active: &mut Active) -> Result<(), AppendError> {
    disk.truncate(&active.file, active.mark.end_bytes)
        .map_err(|error| AppendError::io("cut", active.number, &error))?;
    active.dirty = false;
    Ok(())
}

#[cfg(test)]
mod tests;
