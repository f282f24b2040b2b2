//! The system calls that decide what is durable, behind a trait so that tests can make them fail.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How segments are written. The store uses [`OsDisk`], without cost: calls are dispatched at compile time.
pub(crate) trait Disk: Send + 'static {
    /// Appends all bytes; after an error any part of them may be there.
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()>;
    /// Makes the file's bytes and size durable.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&self, file: &File, size_bytes: u64) -> io::Result<()>;
    /// Bytes that this user may still write to the directory's file system.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
    /// Makes names in the directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// The real thing: `write`, `fdatasync`, `ftruncate`, `fsync`.
pub(crate) struct OsDisk;

impl Disk for OsDisk {
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn truncate(&self, file: &File, size_bytes: u64) -> io::Result<()> {
        file.set_len(size_bytes)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

/// No space, or none left for this user: what an operator can mend without looking further.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
