//! Rows of a node, and those of one shard alone.

use std::hash::{DefaultHasher, Hash, Hasher};

use machine::{Machine, Row, Rows, RowsError, ShardId};
use raftlog::{KeyRange, StateDb};

/// All rows of a node.
pub(super) struct NodeRows<'a>(pub(super) &'a StateDb);

impl Rows for NodeRows<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.0.get(key);
        row.map_err(|error| RowsError(error.to_string()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        let rows = self.0.scan(&KeyRange::new(from, to), limit);
        rows.map_err(|error| RowsError(error.to_string()))
    }
}

/// The rows of one shard of a node at one moment, as the machine's invariants read them: as if there were no others.
pub(super) struct ShardRows {
    rows: Vec<Row>,
    /// Last hash of the range.
    pub(super) last: u64,
}

impl ShardRows {
    /// Of the range that the shard's own row says it has: a split makes it smaller, and a child may live beside it.
    pub(super) fn read(db: &StateDb, shard: ShardId) -> Result<Self, String> {
        let node = NodeRows(db);
        let range = Machine::stored_range(&node, shard).map_err(|error| error.to_string())?;
        let (first, last) = range.ok_or("it has no range")?;
        let mut rows = Vec::new();
        for (from, to) in machine::key_ranges(shard, first, last) {
            let found = node.scan(&from, &to, usize::MAX);
            rows.extend(found.map_err(|error| error.to_string())?);
        }
        Ok(Self { rows, last })
    }

    fn place(&self, key: &[u8]) -> usize {
        self.rows
            .partition_point(|(other, _)| other.as_slice() < key)
    }

    pub(super) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rows.hash(&mut hasher);
        hasher.finish()
    }
}

impl Rows for ShardRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.rows.get(self.place(key));
        Ok(row.filter(|row| row.0 == key).map(|row| row.1.clone()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        let rows = self.rows.get(self.place(from)..self.place(to));
        Ok(rows
            .unwrap_or_default()
            .iter()
            .take(limit)
            .cloned()
            .collect())
    }
}
