//! Where a drill's processes write.

use crate::leftovers;
use crate::output::CommandError;
use std::path::{Path, PathBuf};

/// A directory that goes away at the end unless its place was given.
pub struct WorkingDirectory {
    path: PathBuf,
    keep: bool,
}

impl WorkingDirectory {
    /// The given one, kept; else one of this process, removed with this value. What killed runs left is removed first.
    pub fn new(given: Option<&Path>) -> Result<Self, CommandError> {
        let base = std::env::temp_dir();
        leftovers::sweep_directories(&base);
        let path = given.map_or_else(|| base.join(leftovers::directory_name()), Path::to_owned);
        if given.is_none() {
            // Of a process that had our id: what it left is not ours.
            let _ = std::fs::remove_dir_all(&path);
        }
        std::fs::create_dir_all(&path)
            .map_err(|e| CommandError::io(format!("cannot make {}", path.display()), e))?;
        Ok(Self {
            path,
            keep: given.is_some(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing depends on its removal; the next run tries again.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
