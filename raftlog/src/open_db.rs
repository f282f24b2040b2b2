//! Opening a RocksDB, with errors that say what is wrong.

use std::path::Path;

use rocksdb::{DB, ErrorKind, Options};

use crate::durable_dir::make_durable_dir;
use crate::errors::OpenError;

/// Opens a database; its lock file keeps every other process out.
pub(crate) fn open_db(options: &Options, dir: &Path) -> Result<DB, OpenError> {
    let made = make_durable_dir(dir).map_err(|error| OpenError::Io {
        dir: dir.to_owned(),
        reason: error.to_string(),
    });
    made.and_then(|()| DB::open(options, dir).map_err(|error| open_error(dir, &error)))
}

fn open_error(dir: &Path, error: &rocksdb::Error) -> OpenError {
    let dir = dir.to_owned();
    let reason = error.to_string();
    // RocksDB has no kind for this; the words are those of another process, and of this one.
    if reason.contains("While lock file") || reason.contains("lock hold by current process") {
        return OpenError::Locked { dir };
    }
    match error.kind() {
        ErrorKind::Corruption => OpenError::Corrupt { dir, reason },
        _ => OpenError::Io { dir, reason },
    }
}
