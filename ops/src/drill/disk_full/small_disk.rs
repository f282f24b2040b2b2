//! A small file system for one directory, filled and freed by one file in it.

use crate::output::CommandError;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Room for a node that crawls for some minutes.
const SIZE_MIB: u32 = 768;
/// Sizes of the pieces that fill it: large ones first, small ones for the rest.
const PIECES_BYTES: [usize; 2] = [1 << 20, 4 << 10];

/// A mounted file system. Unmounted with this value.
#[derive(Debug)]
pub struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// Mounts one at a directory, which is made; refused when this user or machine cannot.
    pub fn mount(dir: &Path) -> Result<Self, CommandError> {
        if !rustix::process::geteuid().is_root() {
            return Err(CommandError::Refused(
                "mounting a small disk needs root".to_owned(),
            ));
        }
        fs::create_dir_all(dir)
            .map_err(|e| CommandError::io(format!("cannot make {}", dir.display()), e))?;
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={SIZE_MIB}m"), "tmpfs"])
            .arg(dir)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| CommandError::io("cannot run mount", e))?;
        if !done.status.success() {
            return Err(CommandError::Refused(format!(
                "a small disk cannot be mounted here: {}",
                String::from_utf8_lossy(&done.stderr).trim()
            )));
        }
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// Leaves no space.
    pub fn fill(&self) -> Result<(), CommandError> {
        let failed = |e| CommandError::io("cannot fill a small disk", e);
        let mut file = File::create(self.filler()).map_err(failed)?;
        for piece in PIECES_BYTES {
            let zeros = vec![0; piece];
            loop {
                match file.write_all(&zeros) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Ok(())
    }

    /// Gives the space back.
    pub fn free(&self) -> Result<(), CommandError> {
        fs::remove_file(self.filler()).map_err(|e| CommandError::io("cannot free a small disk", e))
    }

    fn filler(&self) -> PathBuf {
        self.dir.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that was killed a moment ago may still hold a file.
        let _ = Command::new("umount").arg("-l").arg(&self.dir).status();
    }
}
