//! What a crawl's directory remembers between runs: `DIR/crawl.json`, replaced by rename after a sync.

use super::args::ScopeName;
use crate::output::CommandError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Id of the one crawl of a directory.
pub const CRAWL: u32 = 1;

/// What the directory remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Shape of this file.
    pub version: u32,
    /// Groups of the frontier.
    pub shards: u32,
    /// Which links are followed.
    pub scope: ScopeName,
    /// All seeds of all runs, canonical: the scope is theirs.
    pub seeds: BTreeSet<String>,
}

impl Settings {
    /// The file's shape now.
    pub const VERSION: u32 = 1;

    /// Reads the directory's settings; `None` for a new one.
    pub fn read(dir: &Path) -> Result<Option<Self>, CommandError> {
        let path = file(dir);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(CommandError::io(
                    format!("cannot read {}", path.display()),
                    error,
                ));
            }
        };
        let settings: Self = serde_json::from_str(&text)
            .map_err(|e| CommandError::of(&format!("{}", path.display()), e))?;
        if settings.version != Self::VERSION {
            return Err(CommandError::Message(format!(
                "{} has version {}, this program knows {}",
                path.display(),
                settings.version,
                Self::VERSION
            )));
        }
        Ok(Some(settings))
    }

    /// Writes them durably.
    pub fn write(&self, dir: &Path) -> Result<(), CommandError> {
        let path = file(dir);
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| CommandError::of("cannot write JSON", e))?;
        replace(dir, &path, text.as_bytes())
            .map_err(|e| CommandError::io(format!("cannot write {}", path.display()), e))
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("crawl.json")
}

/// A new file beside the old one, synced, renamed over it, the name synced.
fn replace(dir: &Path, path: &Path, data: &[u8]) -> io::Result<()> {
    let new = path.with_extension("json.new");
    let mut out = File::create(&new)?;
    out.write_all(data)?;
    out.sync_all()?;
    fs::rename(&new, path)?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_new_directory_has_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Settings::read(dir.path()).unwrap(), None);
        let settings = Settings {
            version: Settings::VERSION,
            shards: 2,
            scope: ScopeName::Site,
            seeds: BTreeSet::from(["http://a.example/".to_owned()]),
        };
        settings.write(dir.path()).unwrap();
        assert_eq!(Settings::read(dir.path()).unwrap(), Some(settings));
    }

    #[test]
    fn an_unknown_key_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"version":1,"shards":1,"scope":"host","seeds":[],"colour":"red"}"#;
        fs::write(file(dir.path()), text).unwrap();
        let error = Settings::read(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("colour") && error.contains("crawl.json"),
            "{error}"
        );
    }
}
