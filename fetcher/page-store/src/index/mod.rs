//! The index: digest -> first record, and a mark a segment, in a RocksDB of the store's own.
//!
//! One column family without a write-ahead log, so a crash loses a suffix of the batches and never part of one. A batch holds
//! rows together with the mark that covers them: after a crash the rows are exactly those below the marks.
//!
//! ```text
//! 'd' digest (32)            -> place, record id, time, URL of the first capture
//! 'm' segment number (4, BE) -> durable size, last record, counts, sealed
//! ```

mod mark;
mod row;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, FlushOptions, IteratorMode, LogLevel, Options,
    WriteBatch, WriteOptions,
};

use crate::digest::Digest;
use crate::limits;

pub(crate) use mark::Mark;
pub(crate) use row::Row;

/// RocksDB's reason, or the row that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct IndexError {
    pub(crate) message: String,
}

impl IndexError {
    fn row(what: &str, key: &[u8]) -> IndexError {
        IndexError {
            message: format!("{what} {} is not in this version's form", hex::encode(key)),
        }
    }

    /// RocksDB tells a full disk by its text only.
    pub(crate) fn is_full(&self) -> bool {
        self.message.contains("No space left") || self.message.contains("quota exceeded")
    }
}

impl From<rocksdb::Error> for IndexError {
    fn from(error: rocksdb::Error) -> IndexError {
        IndexError {
            message: error.into_string(),
        }
    }
}

/// The open index. Marks are kept in memory too: one a segment.
pub(crate) struct Index {
    db: DB,
    path: PathBuf,
    marks: RwLock<BTreeMap<u32, Mark>>,
}

impl Index {
    /// Opens or creates it and reads the marks.
    pub(crate) fn open(path: &Path) -> Result<Index, IndexError> {
        let db = DB::open(&options(), path)?;
        let mut marks = BTreeMap::new();
        for item in db.iterator(IteratorMode::From(
            &[mark::KEY_START],
            rocksdb::Direction::Forward,
        )) {
            let (key, value) = item?;
            let (number, mark) =
                Mark::decode(&key, &value).ok_or_else(|| IndexError::row("mark", &key))?;
            marks.insert(number, mark);
        }
        Ok(Index {
            db,
            path: path.to_owned(),
            marks: RwLock::new(marks),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The first record of a payload, if it is known, that is durable.
    pub(crate) fn get(&self, digest: &Digest) -> Result<Option<Row>, IndexError> {
        let key = row::key(digest);
        let Some(value) = self.db.get_pinned(key)? else {
            return Ok(None);
        };
        Row::decode(&value)
            .map(Some)
            .ok_or_else(|| IndexError::row("row", &key))
    }

    /// Makes durable records known, and moves the mark over them.
    pub(crate) fn commit(
        &self,
        rows: impl IntoIterator<Item = (Digest, Row)>,
        number: u32,
        mark: Mark,
    ) -> Result<(), IndexError> {
        let mut batch = WriteBatch::default();
        for (digest, row) in rows {
            batch.put(row::key(&digest), row.encode());
        }
        batch.put(mark::key(number), mark.encode());
        let mut without_log = WriteOptions::default();
        without_log.disable_wal(true);
        self.db.write_opt(batch, &without_log)?;
        self.marks.write().insert(number, mark);
        Ok(())
    }

    /// Makes all rows and marks durable.
    pub(crate) fn flush(&self) -> Result<(), IndexError> {
        Ok(self.db.flush()?)
    }

    /// Starts that without waiting for it.
    pub(crate) fn start_flush(&self) -> Result<(), IndexError> {
        let mut options = FlushOptions::default();
        options.set_wait(false);
        Ok(self.db.flush_opt(&options)?)
    }

    pub(crate) fn mark(&self, number: u32) -> Option<Mark> {
        self.marks.read().get(&number).copied()
    }

    /// All marks at this moment, by segment.
    pub(crate) fn marks(&self) -> BTreeMap<u32, Mark> {
        self.marks.read().clone()
    }

    /// Shows every row, in order of digest.
    pub(crate) fn for_each_row(
        &self,
        mut visit: impl FnMut(Digest, Row),
    ) -> Result<(), IndexError> {
        for item in self.db.iterator(IteratorMode::From(
            &[row::KEY_START],
            rocksdb::Direction::Forward,
        )) {
            let (key, value) = item?;
            let Some(digest) = row::digest_of(&key) else {
                break;
            };
            visit(
                digest,
                Row::decode(&value).ok_or_else(|| IndexError::row("row", &key))?,
            );
        }
        Ok(())
    }
}

fn options() -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(limits::INDEX_BLOCK_CACHE_SIZE_BYTES));
    // Most puts ask for a digest that is not there.
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::Zstd);
    options.set_write_buffer_size(limits::INDEX_WRITE_BUFFER_SIZE_BYTES);
    options.set_max_open_files(limits::INDEX_OPEN_FILES_MAX_COUNT);
    options.set_max_background_jobs(2);
    options.set_log_level(LogLevel::Warn);
    options.set_keep_log_file_num(2);
    options
}
