//! What a power loss leaves of an engine's directory, where work is done [inline](crate::Threads::Inline).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use crate::engine::Engine;
use crate::errors::StateError;

/// Sizes of the log's files at one moment, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSizes(BTreeMap<OsString, u64>);

impl LogSizes {
    /// The sizes now.
    ///
    /// # Errors
    ///
    /// What the system answers.
    pub fn read(engine_dir: &Path) -> io::Result<Self> {
        let mut sizes = BTreeMap::new();
        for entry in fs::read_dir(engine_dir.join("log"))? {
            let entry = entry?;
            if is_wal(&entry.path()) {
                sizes.insert(entry.file_name(), entry.metadata()?.len());
            }
        }
        Ok(Self(sizes))
    }
}

/// Copies an engine's directory as a power loss now would leave it. All that was synced is kept: of the log what was
/// there at `synced`, of the state what was flushed. Of what was written to the log since, `kept_permille` is kept, from
/// the front. The engine may be at work on the same thread; it is not touched.
///
/// # Errors
///
/// What the system answers.
pub fn copy_after_power_loss(
    from: &Path,
    to: &Path,
    synced: &LogSizes,
    kept_permille: u64,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for part in ["log", "state"] {
        copy_part(&from.join(part), &to.join(part))?;
    }
    for (name, written) in LogSizes::read(to)?.0 {
        let durable = synced.0.get(&name).copied().unwrap_or(0).min(written);
        let kept = durable + (written - durable) * kept_permille.min(1000) / 1000;
        let file = OpenOptions::new()
            .write(true)
            .open(to.join("log").join(&name))?;
        file.set_len(kept)?;
    }
    Ok(())
}

/// Flushes the rows without telling anybody, as RocksDB does on its own when a memtable is full.
///
/// # Errors
///
/// The database is closed or refuses.
pub fn flush_unnoticed(engine: &Engine) -> Result<(), StateError> {
    let db = engine.shared.state_cell.get()?;
    db.flush()
        .map_err(|error| StateError::Db(error.to_string()))
}

/// Copies what a database needs. RocksDB may remove files that it needs no more meanwhile: then the copy begins anew.
fn copy_part(from: &Path, to: &Path) -> io::Result<()> {
    for _ in 0..100 {
        match copy_files(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir_all(to)?,
            outcome => return outcome,
        }
    }
    Err(io::Error::other("files vanish again and again"))
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("LOG") || text == "LOCK" || text.starts_with("OPTIONS") {
            continue;
        }
        // Tables never change.
        if text.ends_with(".sst") {
            fs::hard_link(entry.path(), to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

fn is_wal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "log")
}
