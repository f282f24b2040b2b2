//! Where a drill's processes write.

use crate::output::CommandError;
use std::path::{Path, PathBuf};

/// A directory that goes away at the end unless its place was given.
pub struct WorkingDirectory {
    path: PathBuf,
    keep: bool,
}

impl WorkingDirectory {
    /// The given one, kept; else one of this process, removed with this value.
    pub fn new(given: Option<&Path>) -> Result<Self, CommandError> {
        let path = given.map_or_else(
            || std::env::temp_dir().join(format!("escapement-{}", std::process::id())),
            Path::to_owned,
        );
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
            // Nothing depends on its removal; a leftover is seen in the temporary folder.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
