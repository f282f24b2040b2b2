//! Row changes on top of [`Rows`]: reads see them, the caller commits them.

use crate::rows::{Row, Rows, RowsError};
use std::collections::BTreeMap;

/// Row changes of the entries applied so far: `None` deletes. Reads of later entries see them.
///
/// The caller commits all of it in one batch with the applied index and then clears it.
#[derive(Debug, Default)]
pub struct Overlay {
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Overlay {
    /// The row as changed so far.
    pub fn get(&self, rows: &dyn Rows, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        match self.changes.get(key) {
            Some(change) => Ok(change.clone()),
            None => rows.get(key),
        }
    }

    /// Rows with `from <= key < to` as changed so far, ascending, at most `limit`.
    pub fn scan(
        &self,
        rows: &dyn Rows,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<Row>, RowsError> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        let mut changes = self.changes.range::<[u8], _>((
            std::ops::Bound::Included(from),
            std::ops::Bound::Excluded(to),
        ));
        let mut change = changes.next();
        let mut found = Vec::new();
        let mut start = from.to_vec();
        loop {
            let chunk = rows.scan(&start, to, limit)?;
            let last_chunk = chunk.len() < limit;
            if let Some((key, _)) = chunk.last() {
                start.clone_from(key);
                start.push(0);
            }
            for (key, value) in chunk {
                while let Some((changed, new)) = change.filter(|(changed, _)| **changed < key) {
                    push(&mut found, changed, new);
                    if found.len() == limit {
                        return Ok(found);
                    }
                    change = changes.next();
                }
                match change.filter(|(changed, _)| **changed == key) {
                    Some((_, new)) => {
                        push(&mut found, &key, new);
                        change = changes.next();
                    }
                    None => found.push((key, value)),
                }
                if found.len() == limit {
                    return Ok(found);
                }
            }
            if last_chunk {
                break;
            }
        }
        while let Some((changed, new)) = change {
            if found.len() == limit {
                break;
            }
            push(&mut found, changed, new);
            change = changes.next();
        }
        Ok(found)
    }

    /// Writes a row.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.insert(key, Some(value));
    }

    /// Deletes a row.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }

    /// The changes in key order; `None` deletes.
    pub fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    /// Takes the changes out, in key order; `None` deletes.
    pub fn drain(&mut self) -> impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)> + use<> {
        std::mem::take(&mut self.changes).into_iter()
    }

    /// How many rows are changed.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Forgets the changes.
    pub fn clear(&mut self) {
        self.changes.clear();
    }
}

fn push(found: &mut Vec<Row>, key: &[u8], new: &Option<Vec<u8>>) {
    if let Some(value) = new {
        found.push((key.to_vec(), value.clone()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::MemRows;

    fn sample() -> (MemRows, Overlay) {
        let mut rows = MemRows::default();
        for key in [b"a", b"c", b"e", b"g"] {
            rows.put(key.to_vec(), b"old".to_vec());
        }
        let mut overlay = Overlay::default();
        overlay.put(b"b".to_vec(), b"new".to_vec());
        overlay.delete(b"c".to_vec());
        overlay.put(b"e".to_vec(), b"new".to_vec());
        overlay.put(b"z".to_vec(), b"new".to_vec());
        (rows, overlay)
    }

    fn keys(found: &[Row]) -> Vec<&str> {
        found
            .iter()
            .map(|(key, _)| std::str::from_utf8(key).unwrap())
            .collect()
    }

    #[test]
    fn reads_see_changes() {
        let (rows, overlay) = sample();
        assert_eq!(overlay.get(&rows, b"a").unwrap(), Some(b"old".to_vec()));
        assert_eq!(overlay.get(&rows, b"c").unwrap(), None);
        assert_eq!(overlay.get(&rows, b"e").unwrap(), Some(b"new".to_vec()));
    }

    #[test]
    fn scans_merge_in_order_at_every_limit() {
        let (rows, overlay) = sample();
        let all = ["a", "b", "e", "g", "z"];
        for limit in 0..7 {
            let found = overlay.scan(&rows, b"a", b"zz", limit).unwrap();
            assert_eq!(keys(&found), all[..limit.min(5)]);
        }
        assert_eq!(
            keys(&overlay.scan(&rows, b"b", b"g", 9).unwrap()),
            ["b", "e"]
        );
        assert!(overlay.scan(&rows, b"g", b"a", 9).unwrap().is_empty());
    }

    #[test]
    fn drains_in_key_order() {
        let (_, mut overlay) = sample();
        let drained: Vec<_> = overlay
            .drain()
            .map(|(key, value)| (key, value.is_some()))
            .collect();
        assert_eq!(
            drained,
            [
                (b"b".to_vec(), true),
                (b"c".to_vec(), false),
                (b"e".to_vec(), true),
                (b"z".to_vec(), true)
            ]
        );
        assert!(overlay.is_empty());
    }
}
