//! One consistent view of all rows.

use rocksdb::{DB, Direction, IteratorMode, ReadOptions, SnapshotWithThreadMode};

use super::keys::{MetaField, meta_key, metas_start, user_bounds, user_key};
use crate::errors::StateError;
use crate::ids::GroupId;
use crate::limits::{CACHED_SCAN_ROWS, MAX_SCAN_ROWS};
use crate::rows::KeyRange;

/// A row: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// All rows as they were at one moment, whatever is written meanwhile. Reading blocks.
pub struct StateView<'a> {
    snapshot: SnapshotWithThreadMode<'a, DB>,
}

impl<'a> StateView<'a> {
    pub(crate) fn new(db: &'a DB) -> Self {
        Self {
            snapshot: db.snapshot(),
        }
    }

    /// The value of a row.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.snapshot.get(user_key(key)).map_err(db_error)
    }

    /// The values of several rows, in the order of the keys.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        let keys = keys.iter().map(|key| user_key(key.as_ref()));
        self.snapshot
            .multi_get(keys)
            .into_iter()
            .map(|value| value.map_err(db_error))
            .collect()
    }

    /// The first rows of a range, at most `limit` and at most [`MAX_SCAN_ROWS`].
    pub fn scan(&self, range: &KeyRange, limit: usize) -> Result<Vec<Row>, StateError> {
        // A short scan is a lookup and will be made again nearby; without the cache each one decompresses its blocks anew.
        let rows = self.rows(range, limit <= CACHED_SCAN_ROWS);
        rows.take(limit.min(MAX_SCAN_ROWS)).collect()
    }

    /// The rows of a range in ascending order of keys. Blocks read on the way do not push others out of the cache.
    pub fn iter(&self, range: &KeyRange) -> impl Iterator<Item = Result<Row, StateError>> + '_ {
        self.rows(range, false)
    }

    fn rows(
        &self,
        range: &KeyRange,
        fill_cache: bool,
    ) -> impl Iterator<Item = Result<Row, StateError>> + '_ {
        let (start, end) = user_bounds(range);
        // A range that ends before it starts holds nothing; RocksDB leaves that undefined.
        let end = end.max(start.clone());
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(start);
        options.set_iterate_upper_bound(end);
        options.fill_cache(fill_cache);
        self.snapshot
            .iterator_opt(IteratorMode::Start, options)
            .map(|row| {
                let (key, value) = row.map_err(db_error)?;
                Ok((key.get(1..).unwrap_or_default().to_vec(), value.into_vec()))
            })
    }

    /// A group's own row.
    pub(crate) fn meta(
        &self,
        group_id: GroupId,
        field: MetaField,
    ) -> Result<Option<Vec<u8>>, StateError> {
        self.snapshot
            .get(meta_key(group_id, field))
            .map_err(db_error)
    }
}

/// The groups that have rows. Blocks.
pub(crate) fn groups_with_rows(db: &DB) -> Result<Vec<GroupId>, StateError> {
    let (tag, start) = metas_start();
    let mut groups = Vec::new();
    for row in db.iterator(IteratorMode::From(&start, Direction::Forward)) {
        let (key, _) = row.map_err(db_error)?;
        if key.first() != Some(&tag) {
            break;
        }
        let id = key.get(1..9).and_then(|bytes| bytes.try_into().ok());
        if let Some(group_id) = id.map(u64::from_be_bytes)
            && key.as_ref() == meta_key(group_id, MetaField::Applied)
        {
            groups.push(group_id);
        }
    }
    Ok(groups)
}

pub(super) fn db_error(error: rocksdb::Error) -> StateError {
    StateError::Db(error.to_string())
}
