//! Where the executables are: beside this one.

use crate::output::CommandError;
use std::path::{Path, PathBuf};

/// The executables of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `frontier-node`.
    pub node: PathBuf,
    /// `fetcher`.
    pub fetcher: PathBuf,
}

impl Programs {
    /// Those beside the running executable.
    pub fn beside_this() -> Result<Self, CommandError> {
        let here =
            std::env::current_exe().map_err(|e| CommandError::io("cannot find this program", e))?;
        Self::within(here.parent().unwrap_or(Path::new("/")))
    }

    /// Those of a folder; a missing one is named with how to make it.
    pub fn within(folder: &Path) -> Result<Self, CommandError> {
        let found = |name: &str| {
            let path = folder.join(name);
            if path.is_file() {
                return Ok(path);
            }
            Err(CommandError::Message(format!(
                "{} is missing: `make build` makes it",
                path.display()
            )))
        };
        Ok(Self {
            node: found("frontier-node")?,
            fetcher: found("fetcher")?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Programs;

    #[test]
    fn a_missing_program_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("frontier-node"), "").unwrap();
        let error = Programs::within(dir.path()).unwrap_err().to_string();
        assert!(error.contains("/fetcher is missing"), "{error}");
        std::fs::write(dir.path().join("fetcher"), "").unwrap();
        assert!(Programs::within(dir.path()).is_ok());
    }
}
