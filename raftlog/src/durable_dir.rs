//! Directories whose names survive a power cut.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes a directory and its missing ancestors, and syncs the directory that holds each new name.
///
/// A file synced inside a directory whose own name was not is lost with it. A directory that was there already has its
/// name synced too, for the process that made it may have died in between.
///
/// # Errors
///
/// What the system answers.
pub fn make_durable_dir(dir: &Path) -> io::Result<()> {
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => return Ok(()),
    };
    if !parent.exists() {
        make_durable_dir(parent)?;
    }
    match fs::create_dir(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
        Err(error) => return Err(error),
    }
    File::open(parent)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn missing_ancestors_are_made_and_a_second_call_is_harmless() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("a/b/c");
        make_durable_dir(&dir).unwrap();
        make_durable_dir(&dir).unwrap();
        assert!(dir.is_dir());
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, b"x").unwrap();
        assert!(make_durable_dir(&file).is_err());
        assert!(make_durable_dir(&file.join("below")).is_err());
    }
}
