//! Whether a directory has both of its databases, or neither.
//!
//! They are made together and only together are a replica. Without its log it has forgotten its votes and what it
//! acknowledged, and must not vote again under the same id; without its state the log below the last flush is gone.

use std::path::{Path, PathBuf};

use rocksdb::{DB, Direction, IteratorMode};

use crate::errors::OpenError;
use crate::log::fields_start;

/// The file that every RocksDB has, from its first moment on.
const CURRENT: &str = "CURRENT";

/// Where the log of an engine's directory is.
pub(super) fn log_dir(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// Where its state is.
pub(super) fn state_dir(dir: &Path) -> PathBuf {
    dir.join("state")
}

fn is_there(database: &Path) -> bool {
    database.join(CURRENT).exists()
}

/// Refuses a directory that has a state and no log: the log is always made first.
pub(super) fn check_log(dir: &Path) -> Result<(), OpenError> {
    if is_there(&state_dir(dir)) && !is_there(&log_dir(dir)) {
        return Err(gone(log_dir(dir), dir));
    }
    Ok(())
}

/// Refuses a directory without a state whose log has groups: their first rows were flushed before their first field.
pub(super) fn check_state(log: &DB, dir: &Path) -> Result<(), OpenError> {
    if is_there(&state_dir(dir)) {
        return Ok(());
    }
    let (tag, start) = fields_start();
    let from = IteratorMode::From(&start, Direction::Forward);
    match log.iterator(from).next() {
        Some(Ok((key, _))) if key.first() == Some(&tag) => Err(gone(state_dir(dir), dir)),
        Some(Err(error)) => Err(OpenError::Io {
            dir: log_dir(dir),
            reason: error.to_string(),
        }),
        _ => Ok(()),
    }
}

fn gone(database: PathBuf, dir: &Path) -> OpenError {
    OpenError::Gone {
        database,
        dir: dir.to_owned(),
    }
}
