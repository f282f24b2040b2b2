//! A node's two databases with nothing in front of them: no Raft, no threads, no groups.
//!
//! For two uses only: the floor that a bench measures against (the same bytes, written as directly as RocksDB lets one),
//! and loading rows by the million into the directory of a node that is closed. Options and layout are those of
//! [`Engine`](crate::Engine), so that the floor is that of the same databases and loaded rows are found by it.

use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::{Cache, DB, WriteBatch, WriteOptions};

use crate::errors::{OpenError, StateError};
use crate::log::open_log;
use crate::options::EngineOptions;
use crate::rows::RowBatch;
use crate::state::{open_state, user_key, write_rows};

/// Both databases of a directory, held by their locks: a directory is open here or in an engine, never in both. Every
/// call blocks.
pub struct RawStore {
    log: DB,
    state: DB,
    next_index: AtomicU64,
}

impl RawStore {
    /// Opens the databases, making them if they are missing.
    pub fn open(options: &EngineOptions) -> Result<Self, OpenError> {
        options.validate()?;
        std::fs::create_dir_all(&options.dir).map_err(|error| OpenError::Io {
            dir: options.dir.clone(),
            reason: error.to_string(),
        })?;
        let log_cache = Cache::new_lru_cache(options.log_cache_size_bytes);
        let log = open_log(&options.dir.join("log"), options, &log_cache, true)?;
        let state_cache = Cache::new_lru_cache(options.block_cache_size_bytes);
        let state = open_state(&options.dir.join("state"), options, &state_cache, true)?;
        Ok(Self {
            log,
            state,
            next_index: AtomicU64::new(0),
        })
    }

    /// Writes one record to the log and syncs it. Calls of several threads at the same moment share a sync: RocksDB
    /// groups their writes. Not for the directory of a node: its log would grow by records that nobody reads.
    pub fn append(&self, payload: &[u8]) -> Result<(), StateError> {
        let index = self.next_index.fetch_add(1, Ordering::Relaxed);
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.log
            .put_opt(record_key(index), payload, &options)
            .map_err(failed)
    }

    /// Writes rows to the state in one batch, without WAL, as a node does.
    pub fn write(&self, rows: &RowBatch) -> Result<(), StateError> {
        let mut batch = WriteBatch::default();
        write_rows(&mut batch, rows);
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        self.state.write_opt(batch, &options).map_err(failed)
    }

    /// Which of the keys have a row, in their order.
    pub fn hold<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>, StateError> {
        let keys = keys.iter().map(|key| user_key(key.as_ref()));
        let found = self.state.multi_get(keys).into_iter();
        found
            .map(|row| row.map(|row| row.is_some()).map_err(failed))
            .collect()
    }

    /// Flushes the state: every row written before is on disk afterwards.
    pub fn flush(&self) -> Result<(), StateError> {
        self.state.flush().map_err(failed)
    }

    /// Compacts the state into its last level, whatever that costs.
    pub fn compact(&self) {
        self.state.compact_range(None::<&[u8]>, None::<&[u8]>);
    }

    /// Bytes of the state's live tables.
    pub fn state_size_bytes(&self) -> Result<u64, StateError> {
        let size_bytes = self
            .state
            .property_int_value("rocksdb.live-sst-files-size")
            .map_err(failed)?;
        Ok(size_bytes.unwrap_or(0))
    }
}

/// As long as the key of an entry, in a space of its own.
fn record_key(index: u64) -> [u8; 17] {
    let mut key = [u8::MAX; 17];
    key[9..].copy_from_slice(&index.to_be_bytes());
    key
}

fn failed(error: rocksdb::Error) -> StateError {
    StateError::Db(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_there_after_a_reopen_and_records_are_not_rows() {
        let dir = tempfile::tempdir().unwrap();
        let options = EngineOptions::new(dir.path(), 1);
        let mut rows = RowBatch::new();
        rows.put(b"a".to_vec(), b"1".to_vec());
        rows.put(b"b".to_vec(), Vec::new());
        let store = RawStore::open(&options).unwrap();
        store.append(b"record").unwrap();
        store.write(&rows).unwrap();
        store.flush().unwrap();
        store.compact();
        assert!(store.state_size_bytes().unwrap() > 0);
        assert!(RawStore::open(&options).is_err(), "one holder at a time");
        drop(store);
        let store = RawStore::open(&options).unwrap();
        assert_eq!(
            store.hold(&[b"a", b"b", b"c"]).unwrap(),
            [true, true, false]
        );
    }
}
