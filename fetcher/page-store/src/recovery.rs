//! Opening: every segment is read from its mark on; what is whole becomes known, a torn tail is cut, a damaged file is refused.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::digest::Digest;
use crate::disk::Disk;
use crate::error::{BadRecord, OpenError};
use crate::index::{Index, IndexError, Mark, Row};
use crate::journal::Active;
use crate::limits;
use crate::segment::{self, FoundMember, ReadError, SegmentReader};
use crate::warc::{Record, RecordType};

/// Where writing goes on.
pub(crate) struct Recovered {
    pub(crate) active: Option<Active>,
    pub(crate) next_number: u32,
}

/// Brings directory and index into one state, durable, and says where to go on.
pub(crate) fn recover<D: Disk>(
    disk: &D,
    dir: &Path,
    index: &Index,
) -> Result<Recovered, OpenError> {
    let in_dir = |what: &'static str| {
        move |source| OpenError::Io {
            what,
            path: dir.to_owned(),
            source,
        }
    };
    segment::remove_unfinished(dir).map_err(in_dir("clean"))?;
    // A name that a killed process gave may not be durable yet, and what is found under it is about to become known.
    disk.sync_dir(dir).map_err(in_dir("sync"))?;
    let numbers = segment::list(dir).map_err(in_dir("list"))?;
    for (number, mark) in index.marks() {
        if mark.end_bytes > 0 && numbers.binary_search(&number).is_err() {
            return Err(OpenError::Missing {
                path: segment::path(dir, number),
                durable_bytes: mark.end_bytes,
            });
        }
    }
    let last = numbers.last().copied();
    let mut active = None;
    for number in numbers {
        let is_last = Some(number) == last;
        let path = segment::path(dir, number);
        let mut tail = Tail {
            disk,
            index,
            number,
            mark: index.mark(number).unwrap_or_default(),
            path,
        };
        let file = tail.recover(is_last)?;
        if is_last && !tail.mark.sealed {
            active = Some(Active::new(number, file, tail.mark));
        }
    }
    Ok(Recovered {
        active,
        next_number: last.map_or(1, |last| last + 1),
    })
}

/// One segment being recovered.
struct Tail<'a, D> {
    disk: &'a D,
    index: &'a Index,
    number: u32,
    path: PathBuf,
    mark: Mark,
}

impl<D: Disk> Tail<'_, D> {
    fn recover(&mut self, is_last: bool) -> Result<File, OpenError> {
        let opened = OpenOptions::new().read(true).append(true).open(&self.path);
        let file = opened.map_err(|source| self.io("open", source))?;
        let size_bytes = file
            .metadata()
            .map_err(|source| self.io("measure", source))?
            .len();
        let durable_bytes = self.mark.end_bytes;
        if size_bytes < durable_bytes {
            return Err(OpenError::Short {
                path: self.path.clone(),
                size_bytes,
                durable_bytes,
            });
        }
        self.check_last_below_mark(&file)?;
        if size_bytes == durable_bytes && size_bytes > 0 {
            return Ok(file);
        }
        if !self.mark.sealed {
            self.scan(&file, size_bytes, is_last)?;
        }
        if size_bytes > self.mark.end_bytes {
            tracing::warn!(path = %self.path.display(), from_bytes = self.mark.end_bytes, size_bytes, "cutting a torn tail");
            self.disk
                .truncate(&file, self.mark.end_bytes)
                .map_err(|source| self.io("cut", source))?;
            self.disk
                .sync_data(&file)
                .map_err(|source| self.io("sync", source))?;
        }
        Ok(file)
    }

    /// The record that ends at the mark must be there, or this is another file, or a damaged one.
    fn check_last_below_mark(&self, file: &File) -> Result<(), OpenError> {
        if self.mark.end_bytes == 0 {
            return Ok(());
        }
        let mut reader = self.reader(file, self.mark.last_offset_bytes, self.mark.end_bytes)?;
        match reader.next_member() {
            Ok(Some(found)) if found.place.end_bytes() == self.mark.end_bytes => Ok(()),
            Ok(_) => Err(self.damaged(
                self.mark.last_offset_bytes,
                "the last durable record is another one",
            )),
            Err(error) => Err(self.read_error(error)),
        }
    }

    /// Indexes whole records from the mark on, moving the mark, up to the end or the first bad one.
    fn scan(&mut self, file: &File, size_bytes: u64, is_last: bool) -> Result<(), OpenError> {
        // What a killed process wrote may be in memory only. It is made durable before it becomes known; and because a sync that
        // failed earlier may have left pages that look clean, they are dropped, so that what is read is what is on the disk.
        self.disk
            .sync_data(file)
            .map_err(|source| self.io("sync", source))?;
        let _ = fadvise(
            file,
            self.mark.end_bytes,
            None::<NonZeroU64>,
            Advice::DontNeed,
        );
        let mut reader = self.reader(file, self.mark.end_bytes, size_bytes)?;
        let mut rows = BTreeMap::new();
        let bad = loop {
            match reader.next_member() {
                Ok(Some(found)) => self.take(&found, &mut rows)?,
                Ok(None) => break None,
                Err(ReadError::Bad {
                    offset_bytes,
                    reason,
                }) => break Some((offset_bytes, reason)),
                Err(error) => return Err(self.read_error(error)),
            }
        };
        self.commit(&mut rows)?;
        let Some((offset_bytes, reason)) = bad else {
            // Segments get their name with their first record in them.
            return if size_bytes == 0 {
                Err(self.damaged(0, "no warcinfo record"))
            } else {
                Ok(())
            };
        };
        if offset_bytes == 0 || !is_last {
            // The first record of a segment is durable before its name, and a whole segment before the next one is created.
            return Err(self.damaged(offset_bytes, reason));
        }
        if self.was_durable(&mut reader, offset_bytes)? {
            return Err(self.damaged(offset_bytes, reason));
        }
        Ok(())
    }

    /// Whether a whole record further on was written after the bytes at this offset were durable.
    fn was_durable(
        &self,
        reader: &mut SegmentReader,
        offset_bytes: u64,
    ) -> Result<bool, OpenError> {
        while reader
            .skip_bad()
            .map_err(|source| self.io("read", source))?
        {
            loop {
                match reader.next_member() {
                    Ok(Some(found)) => {
                        let start_bytes = found.group_start_bytes;
                        if start_bytes > offset_bytes && start_bytes <= found.place.offset_bytes {
                            return Ok(true);
                        }
                    }
                    Ok(None) => return Ok(false),
                    Err(ReadError::Bad { .. }) => break,
                    Err(error) => return Err(self.read_error(error)),
                }
            }
        }
        Ok(false)
    }

    fn take(
        &mut self,
        found: &FoundMember,
        rows: &mut BTreeMap<Digest, Row>,
    ) -> Result<(), OpenError> {
        let record = &found.record;
        let mut payload_bytes = 0;
        if let (RecordType::Response, Some(digest)) = (record.record_type, record.digest) {
            payload_bytes = payload_size_bytes(record)
                .map_err(|reason| self.damaged(found.place.offset_bytes, reason))?;
            let is_known = self
                .index
                .get(&digest)
                .map_err(|error| self.index_error(error))?
                .is_some();
            if !is_known {
                let (captured_at_unix_ms, id, url) =
                    (record.captured_at_unix_ms, record.id, record.url.clone());
                // The first record of a payload stays its first.
                rows.entry(digest).or_insert(Row {
                    place: found.place,
                    captured_at_unix_ms,
                    id,
                    url,
                });
            }
        }
        self.mark
            .add(record.record_type, found.place.size_bytes, payload_bytes);
        if rows.len() >= limits::RECOVERY_BATCH_MAX_COUNT {
            self.commit(rows)
        } else {
            Ok(())
        }
    }

    fn commit(&mut self, rows: &mut BTreeMap<Digest, Row>) -> Result<(), OpenError> {
        self.index
            .commit(std::mem::take(rows), self.number, self.mark)
            .map_err(|error| self.index_error(error))
    }

    fn reader(
        &self,
        file: &File,
        from_bytes: u64,
        end_bytes: u64,
    ) -> Result<SegmentReader, OpenError> {
        let file = file.try_clone().map_err(|source| self.io("open", source))?;
        Ok(SegmentReader::new(file, self.number, from_bytes, end_bytes))
    }

    fn io(&self, what: &'static str, source: io::Error) -> OpenError {
        OpenError::Io {
            what,
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, offset_bytes: u64, reason: impl ToString) -> OpenError {
        OpenError::Damaged {
            path: self.path.clone(),
            offset_bytes,
            reason: reason.to_string(),
        }
    }

    fn index_error(&self, error: IndexError) -> OpenError {
        OpenError::Index {
            path: self.index.path().to_owned(),
            message: error.message,
        }
    }

    fn read_error(&self, error: ReadError) -> OpenError {
        match error {
            ReadError::Io(source) => self.io("read", source),
            ReadError::Bad {
                offset_bytes,
                reason,
            } => self.damaged(offset_bytes, reason),
        }
    }
}

fn payload_size_bytes(record: &Record) -> Result<u64, BadRecord> {
    Ok(record.http()?.1.len() as u64)
}

/// Creates the store's directory, durably, if it is not there.
pub(crate) fn create_dir<D: Disk>(disk: &D, dir: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Io {
        what: "create",
        path: dir.to_owned(),
        source,
    };
    match fs::create_dir(dir) {
        Ok(()) => {
            let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
            disk.sync_dir(parent.unwrap_or(Path::new(".")))
                .map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests;
