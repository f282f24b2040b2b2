//! A new segment: whole and durable, with its `warcinfo` record, before it has its name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::disk::Disk;
use crate::warc::Member;

use super::name;

/// Creates segment `number` and returns it, open for appending after its first record. A crash at any step leaves the old
/// state and a file that [`name::remove_unfinished`] removes; after an error the same number may be created again.
pub(crate) fn create<D: Disk>(
    disk: &D,
    dir: &Path,
    number: u32,
    first: &Member,
) -> io::Result<File> {
    let aside = name::path(dir, number).with_extension("gz.new");
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .append(true)
        .open(&aside)?;
    let written = disk
        .append(&mut file, &first.0)
        .and_then(|()| disk.sync_data(&file));
    if let Err(error) = written {
        // The space is worth more than the file; if this fails too, the next attempt or opening removes it.
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    fs::rename(&aside, name::path(dir, number))?;
    disk.sync_dir(dir)?;
    Ok(file)
}
