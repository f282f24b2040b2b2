//! Compiles the preloaded library and sets it before a command.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/power-cut/powercut.c");

/// The compiled library.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
}

impl Library {
    /// Compiles it into `dir`.
    pub fn build(dir: &Path) -> io::Result<Self> {
        let path = dir.join("powercut.so");
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"])
            .arg(&path)
            .args([SOURCE, "-ldl"])
            .output()?;
        if !done.status.success() {
            return Err(io::Error::other(
                String::from_utf8_lossy(&done.stderr).into_owned(),
            ));
        }
        Ok(Self { path })
    }

    /// Preloads it for `command`, which is stopped before its `stop_at`-th watched call (0 = runs on).
    pub fn watch<'a>(
        &self,
        command: &'a mut Command,
        root: &Path,
        work: &Path,
        stop_at: u64,
    ) -> &'a mut Command {
        command
            .env("LD_PRELOAD", &self.path)
            .env("POWERCUT_ROOT", root)
            .env("POWERCUT_JOURNAL", work.join("journal"))
            .env("POWERCUT_SAVED", work.join("saved"))
            .env("POWERCUT_COUNT", work.join("count"))
            .env("POWERCUT_STOP_AT", stop_at.to_string())
    }
}
