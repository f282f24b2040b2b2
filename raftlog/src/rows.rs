//! Rows as users see them: key ranges, and the batch of changes that one `apply` makes.
//!
//! Keys are plain bytes in lexicographic order. In the database they live behind one tag byte
//! ([`state`](crate::state)), which users neither write nor read.

/// Half-open range of row keys, `start <= key < end`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// First key of the range. Empty: from the first row.
    pub start: Vec<u8>,
    /// First key behind the range. `None`: to the last row.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range `start <= key < end`.
    pub fn new(start: impl Into<Vec<u8>>, end: impl Into<Vec<u8>>) -> Self {
        Self {
            start: start.into(),
            end: Some(end.into()),
        }
    }

    /// All rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// The rows whose key begins with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            start: prefix.to_vec(),
            end: successor(prefix),
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && self.end.as_deref().is_none_or(|end| key < end)
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.end
            .as_deref()
            .is_some_and(|end| end <= self.start.as_slice())
    }
}

/// The smallest key greater than every key that begins with `prefix`; none if there is no such key.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// One change of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChange {
    /// Writes a row, replacing what was there.
    Put(Vec<u8>, Vec<u8>),
    /// Removes a row, if it is there.
    Delete(Vec<u8>),
    /// Removes all rows of a range. Costs the same whatever the range holds.
    DeleteRange(KeyRange),
}

/// Changes of rows, applied in the order they were added, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowBatch {
    changes: Vec<RowChange>,
    size_bytes: usize,
}

impl RowBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the writing of a row.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let (key, value) = (key.into(), value.into());
        self.size_bytes += key.len() + value.len();
        self.changes.push(RowChange::Put(key, value));
    }

    /// Adds the removal of a row.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        let key = key.into();
        self.size_bytes += key.len();
        self.changes.push(RowChange::Delete(key));
    }

    /// Adds the removal of all rows of a range.
    pub fn delete_range(&mut self, range: KeyRange) {
        self.size_bytes += range.start.len() + range.end.as_ref().map_or(0, Vec::len);
        self.changes.push(RowChange::DeleteRange(range));
    }

    /// The changes in order.
    pub fn changes(&self) -> &[RowChange] {
        &self.changes
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Bytes of the keys and values.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_skips_full_bytes() {
        assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(successor(&[1, 255]), Some(vec![2]));
        assert_eq!(successor(&[255, 255]), None);
        assert_eq!(successor(&[]), None);
    }

    #[test]
    fn a_prefix_range_holds_exactly_its_keys() {
        let range = KeyRange::prefix(&[7, 255]);
        assert!(range.contains(&[7, 255]));
        assert!(range.contains(&[7, 255, 255, 255]));
        assert!(!range.contains(&[8]));
        assert!(!range.contains(&[7, 254, 9]));
        assert!(KeyRange::prefix(&[255]).contains(&[255, 255]));
        assert!(KeyRange::new([2], [2]).is_empty());
        assert!(!KeyRange::all().is_empty());
    }
}
