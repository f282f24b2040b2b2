//! One writer a directory: an exclusive `flock` on a file in it, released by the system when the process ends however it ends.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::OpenError;

const LOCK_FILE_NAME: &str = "lock";

/// Held while the store is open.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Takes the lock, or says who cannot have it; never waits.
    pub(crate) fn take(dir: &Path) -> Result<DirLock, OpenError> {
        let path = dir.join(LOCK_FILE_NAME);
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = opened.map_err(|source| OpenError::Io {
            what: "open",
            path: path.clone(),
            source,
        })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirLock { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(OpenError::Locked {
                dir: dir.to_owned(),
            }),
            Err(errno) => Err(OpenError::Io {
                what: "lock",
                path,
                source: errno.into(),
            }),
        }
    }
}
