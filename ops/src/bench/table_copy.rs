//! The floor of a refill: the tables of a state database, copied and synced.

use super::outcome::rounded;
use crate::output::CommandError;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

/// What was copied.
#[derive(Debug)]
pub struct Copied {
    /// Bytes of all tables.
    pub bytes: u64,
    /// Time it took.
    pub seconds: f64,
}

/// Copies the tables of a closed node's state.
pub fn run(node_dir: &Path, to: &Path) -> Result<Copied, CommandError> {
    let started = Instant::now();
    let bytes = copy(&node_dir.join("state"), to)
        .map_err(|e| CommandError::io("cannot copy the tables", e))?;
    Ok(Copied {
        bytes,
        seconds: rounded(started.elapsed().as_secs_f64()),
    })
}

fn copy(from: &Path, to: &Path) -> std::io::Result<u64> {
    std::fs::create_dir_all(to)?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "sst") {
            continue;
        }
        let mut copied = File::create(to.join(path.file_name().unwrap_or_default()))?;
        bytes += std::io::copy(&mut File::open(&path)?, &mut copied)?;
        copied.sync_all()?;
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_copied_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join("1.sst"), [1; 10]).unwrap();
        std::fs::write(state.join("2.sst"), [2; 20]).unwrap();
        std::fs::write(state.join("LOCK"), [3; 30]).unwrap();
        let to = dir.path().join("copy");
        assert_eq!(run(dir.path(), &to).unwrap().bytes, 30);
        assert_eq!(std::fs::read(to.join("2.sst")).unwrap(), [2; 20]);
        assert!(!to.join("LOCK").exists());
    }
}
