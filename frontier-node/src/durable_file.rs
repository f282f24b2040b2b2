//! Small files that are replaced whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces `dir/name`: a temporary file, its fsync, its rename, the directory's fsync. `mode`: of a file that is made
/// by this. Blocking.
pub(crate) fn replace(dir: &Path, name: &str, text: &str, mode: u32) -> io::Result<()> {
    let path = dir.join(name);
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, &path)?;
    File::open(dir)?.sync_all()
}
