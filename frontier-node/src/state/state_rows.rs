//! How a machine reads the rows of its shard.

use std::sync::Arc;

use machine::{Rows, RowsError};
use raftlog::{KeyRange, StateDb, StateError, StateView};

use crate::known::KnownFilter;

/// The rows of one shard in the node's state database. Reads of `seen` rows ask the filter first: what it says is absent
/// costs no read.
#[derive(Clone)]
pub(crate) struct StateRows {
    db: StateDb,
    filter: Arc<KnownFilter>,
    group: u64,
    seen_tag: u8,
}

impl StateRows {
    pub(crate) fn new(db: StateDb, filter: Arc<KnownFilter>, group: u64) -> Self {
        Self {
            db,
            filter,
            group,
            seen_tag: seen_tag(),
        }
    }

    /// Whether a row of `seen` has this key.
    pub(crate) fn is_seen_key(&self, key: &[u8]) -> bool {
        key.first() == Some(&self.seen_tag)
    }
}

/// The byte with which the keys of `seen` rows begin.
pub(crate) fn seen_tag() -> u8 {
    machine::seen_key(0, 0).first().copied().unwrap_or_default()
}

impl Rows for StateRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        if self.is_seen_key(key) && self.filter.surely_absent(self.group, key) {
            return Ok(None);
        }
        self.db.get(key).map_err(rows_error)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, RowsError> {
        self.db
            .scan(&KeyRange::new(from, to), limit)
            .map_err(rows_error)
    }
}

/// The rows of the node in one view.
pub(crate) struct ViewRows<'a>(pub(crate) &'a StateView<'a>);

impl Rows for ViewRows<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.0.get(key).map_err(rows_error)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, RowsError> {
        self.0
            .scan(&KeyRange::new(from, to), limit)
            .map_err(rows_error)
    }
}

fn rows_error(error: StateError) -> RowsError {
    RowsError(error.to_string())
}
