//! Read access to rows, and the writing of a batch.

use std::sync::Arc;

use rocksdb::WriteBatch;

use super::keys::{user_bounds, user_key};
use super::view::{Row, StateView, db_error};
use crate::db_cell::DbCell;
use crate::errors::StateError;
use crate::rows::{KeyRange, RowBatch, RowChange};

/// Read access to the rows of all groups of a node. Cheap to clone. Every call blocks: not for async workers, unless
/// the rows are known to be few and warm.
#[derive(Clone)]
pub struct StateDb {
    pub(crate) cell: Arc<DbCell>,
}

impl StateDb {
    /// The value of a row.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.cell.get()?.get(user_key(key)).map_err(db_error)
    }

    /// The values of several rows, in the order of the keys. One view.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        self.read(|view| view.multi_get(keys))?
    }

    /// The first rows of a range, at most `limit` and at most [`MAX_SCAN_ROWS`](crate::limits::MAX_SCAN_ROWS). One
    /// view; a longer scan goes on from the successor of the last key.
    pub fn scan(&self, range: &KeyRange, limit: usize) -> Result<Vec<Row>, StateError> {
        self.read(|view| view.scan(range, limit))?
    }

    /// Reads in one consistent view. The database stays open until `read` returns, and old versions of rows are kept,
    /// so it should not wait for anything but the disk.
    pub fn read<T>(&self, read: impl FnOnce(&StateView<'_>) -> T) -> Result<T, StateError> {
        let db = self.cell.get()?;
        Ok(read(&StateView::new(&db)))
    }

    /// About how many bytes on disk the rows of a range take, what was not flushed yet left out.
    pub fn disk_size_bytes(&self, range: &KeyRange) -> Result<u64, StateError> {
        let (start, end) = user_bounds(range);
        let sizes = self
            .cell
            .get()?
            .get_approximate_sizes(&[rocksdb::Range::new(&start, &end)]);
        Ok(sizes.into_iter().sum())
    }
}

/// Adds the changes of users' rows to a database batch.
pub(crate) fn write_rows(batch: &mut WriteBatch, rows: &RowBatch) {
    for change in rows.changes() {
        match change {
            RowChange::Put(key, value) => batch.put(user_key(key), value),
            RowChange::Delete(key) => batch.delete(user_key(key)),
            RowChange::DeleteRange(range) if range.is_empty() => {}
            RowChange::DeleteRange(range) => {
                let (start, end) = user_bounds(range);
                batch.delete_range(start, end);
            }
        }
    }
}
