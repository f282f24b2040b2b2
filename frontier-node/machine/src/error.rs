//! What stops a shard: rows that cannot be read or that contradict each other.

use crate::rows::RowsError;

/// Stops the shard. Everything a client can cause is a reply instead.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The store below failed.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A row that does not decode.
    #[error("a {space} row does not decode: {what}")]
    Corrupt {
        /// Key space.
        space: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Two parts of the state contradict each other.
    #[error("broken invariant: {0}")]
    Invariant(&'static str),
}

impl MachineError {
    pub(crate) fn corrupt(space: &'static str, what: impl ToString) -> Self {
        Self::Corrupt {
            space,
            what: what.to_string(),
        }
    }
}
