//! Why a run of records was not stored.

use std::io;
use std::path::Path;

use crate::disk::is_full;
use crate::error::PutError;
use crate::index::IndexError;
use crate::segment;

/// A run was not stored.
#[derive(Debug, Clone)]
pub(crate) struct AppendError {
    pub(super) full: bool,
    pub(super) what: String,
}

impl AppendError {
    /// A file operation on a segment failed.
    pub(super) fn io(what: &str, number: u32, error: &io::Error) -> AppendError {
        let file_name = segment::file_name(number);
        AppendError {
            full: is_full(error),
            what: format!("{what} {file_name}: {error}"),
        }
    }

    /// Less is left than the store may take.
    pub(super) fn low(dir: &Path, free_bytes: u64, needed_bytes: u64) -> AppendError {
        let dir = dir.display();
        AppendError {
            full: true,
            what: format!(
                "write to {dir}: {free_bytes} bytes are left, {needed_bytes} are kept free"
            ),
        }
    }

    /// Something else than a disk failed.
    pub(super) fn other(what: String) -> AppendError {
        AppendError { full: false, what }
    }
}

impl From<IndexError> for AppendError {
    fn from(error: IndexError) -> AppendError {
        AppendError {
            full: error.is_full(),
            what: format!("write the index: {error}"),
        }
    }
}

impl From<AppendError> for PutError {
    fn from(error: AppendError) -> PutError {
        match error {
            AppendError { full: true, what } => PutError::Full { what },
            AppendError { full: false, what } => PutError::Io { what },
        }
    }
}
