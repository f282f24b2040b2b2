//! What the preloaded library wrote down.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// One journalled event. A file is named by its inode, since names move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A new file got a name.
    Create { inode: u64, path: PathBuf },
    /// A further name for a file.
    Link { inode: u64, path: PathBuf },
    /// A new directory.
    Mkdir { path: PathBuf },
    /// The file's data up to `size` is on disk.
    Sync { inode: u64, size: u64 },
    /// The names in a directory are on disk.
    SyncDir { path: PathBuf },
    /// The file was cut to `size`.
    Cut { inode: u64, size: u64 },
    /// A name moved; `saved` is the hard link of what it replaced.
    Rename {
        inode: u64,
        from: PathBuf,
        to: PathBuf,
        saved: Option<String>,
    },
    /// A name went away; `saved` is the hard link of what it named.
    Unlink {
        path: PathBuf,
        saved: Option<String>,
    },
    /// The process stopped itself before this call.
    Stop { what: String, path: PathBuf },
}

/// The journal of one run.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// In order of writing.
    pub events: Vec<Event>,
}

impl Journal {
    /// Reads a journal. A line that cannot be read is an error: the harness must not guess.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let events = text
            .lines()
            .map(|line| {
                parse(line).ok_or_else(|| io::Error::other(format!("not a journal line: {line:?}")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { events })
    }

    /// Where the process stopped itself, if it did.
    pub fn stop(&self) -> Option<(&str, &Path)> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Stop { what, path } => Some((what.as_str(), path.as_path())),
            _ => None,
        })
    }

    /// Size that is on disk for each file that was created, cut or synced in this run.
    pub fn synced_sizes(&self) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for event in &self.events {
            match event {
                Event::Create { inode, .. } => {
                    sizes.insert(*inode, 0);
                }
                Event::Sync { inode, size } => {
                    sizes.insert(*inode, *size);
                }
                Event::Cut { inode, size } => {
                    let kept = sizes.entry(*inode).or_insert(*size);
                    *kept = (*kept).min(*size);
                }
                _ => {}
            }
        }
        sizes
    }
}

fn parse(line: &str) -> Option<Event> {
    let mut fields = line.split('\t');
    let kind = fields.next()?;
    let mut next = || fields.next();
    let saved = |text: &str| (!text.ends_with(".0")).then(|| text.to_owned());
    Some(match kind {
        "create" => Event::Create {
            inode: next()?.parse().ok()?,
            path: next()?.into(),
        },
        "link" => Event::Link {
            inode: next()?.parse().ok()?,
            path: next()?.into(),
        },
        "mkdir" => Event::Mkdir {
            path: next()?.into(),
        },
        "sync" => Event::Sync {
            inode: next()?.parse().ok()?,
            size: next()?.parse().ok()?,
        },
        "syncdir" => Event::SyncDir {
            path: next()?.into(),
        },
        "cut" => Event::Cut {
            inode: next()?.parse().ok()?,
            size: next()?.parse().ok()?,
        },
        "rename" => Event::Rename {
            inode: next()?.parse().ok()?,
            from: next()?.into(),
            to: next()?.into(),
            saved: saved(next()?),
        },
        "unlink" => {
            let _inode = next()?;
            Event::Unlink {
                path: next()?.into(),
                saved: saved(next()?),
            }
        }
        "stop" => Event::Stop {
            what: next()?.to_owned(),
            path: next()?.into(),
        },
        _ => return None,
    })
}
