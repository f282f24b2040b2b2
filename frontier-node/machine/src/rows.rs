//! How the machine reads rows: a small read trait.

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Read access to a shard's rows as they stood before the entries being applied.
pub trait Rows {
    /// The row's value, if there is one.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError>;

    /// Rows with `from <= key < to`, ascending, at most `limit`.
    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError>;
}

/// The store below could not be read. Stops the shard.
#[derive(Debug, thiserror::Error)]
#[error("cannot read rows: {0}")]
pub struct RowsError(pub String);
