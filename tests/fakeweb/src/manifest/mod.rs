//! The manifest: each reachable URL with its expected outcome.

mod entry;
mod generate;

use std::collections::BTreeMap;
use std::io::BufRead;

pub use entry::{HostFacts, ManifestEntry, Outcome};
pub use generate::{ManifestError, entries, write_manifest};

use crate::limits;
use crate::options::{FakeWebError, FakeWebOptions};

/// A manifest in memory, by URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Entries by canonical URL.
    pub entries: BTreeMap<String, ManifestEntry>,
    /// Facts by host name.
    pub hosts: BTreeMap<String, HostFacts>,
}

impl Manifest {
    /// The manifest of a web.
    pub fn of(options: &FakeWebOptions) -> Result<Self, FakeWebError> {
        Ok(entries(options)?.collect())
    }

    /// Reads JSON lines as [`write_manifest`] writes them. Empty lines are passed over.
    pub fn read(mut input: impl BufRead) -> Result<Self, ManifestError> {
        let mut manifest = Self::default();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            if input.read_line(&mut text)? == 0 {
                break;
            }
            if text.len() > limits::MAX_LINE_BYTES {
                return Err(ManifestError::LongLine { line });
            }
            if !text.trim().is_empty() {
                let entry = serde_json::from_str(&text);
                manifest.insert(entry.map_err(|source| ManifestError::Line { line, source })?);
            }
        }
        Ok(manifest)
    }

    fn insert(&mut self, entry: ManifestEntry) {
        if let Some(facts) = &entry.host_facts {
            self.hosts.insert(entry.host.clone(), facts.clone());
        }
        self.entries.insert(entry.url.clone(), entry);
    }
}

impl FromIterator<ManifestEntry> for Manifest {
    fn from_iter<T: IntoIterator<Item = ManifestEntry>>(entries: T) -> Self {
        let mut manifest = Self::default();
        entries.into_iter().for_each(|entry| manifest.insert(entry));
        manifest
    }
}
