//! Rows in memory that count how often they are read.

use crate::{
    overlay::Overlay,
    rows::{Rows, RowsError},
};
use std::{cell::Cell, collections::BTreeMap};

/// Committed rows.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Rows read one by one or returned by scans, and scans.
    pub reads: Cell<u64>,
}

impl Store {
    /// Takes over what an overlay changed.
    pub fn commit(&mut self, overlay: &mut Overlay) {
        for (key, value) in overlay.drain() {
            match value {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

impl Store {
    /// Takes out the rows of those key ranges.
    pub fn split_off(&mut self, ranges: &[(Vec<u8>, Vec<u8>)]) -> Self {
        let mut taken = Self::default();
        for (from, to) in ranges {
            let keys: Vec<_> = self
                .rows
                .range(from.clone()..to.clone())
                .map(|(key, _)| key.clone())
                .collect();
            for key in keys {
                if let Some(value) = self.rows.remove(&key) {
                    taken.rows.insert(key, value);
                }
            }
        }
        taken
    }
}

impl Rows for Store {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.reads.set(self.reads.get() + 1);
        Ok(self.rows.get(key).cloned())
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, RowsError> {
        if from >= to {
            return Ok(Vec::new());
        }
        let found: Vec<_> = self
            .rows
            .range(from.to_vec()..to.to_vec())
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.reads.set(self.reads.get() + 1 + found.len() as u64);
        Ok(found)
    }
}
