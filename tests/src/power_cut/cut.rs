//! Puts a directory back to what the disk was promised.

use super::journal::{Event, Journal};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How much of what was never synced survives the cut all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mercy {
    /// Nothing: the harshest disk.
    None,
    /// A part chosen by this seed: a prefix of the name changes and a part of each file's tail.
    Seed(u64),
}

/// What the cut took away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutReport {
    /// Files that lost bytes.
    pub cut_files: usize,
    /// Bytes they lost.
    pub cut_bytes: u64,
    /// Name changes undone.
    pub undone_names: usize,
}

/// Cuts `root` back. `saved` is where the library kept replaced files.
pub fn cut(root: &Path, saved: &Path, journal: &Journal, mercy: Mercy) -> io::Result<CutReport> {
    let mut report = CutReport::default();
    let mut rng = match mercy {
        Mercy::None => 0,
        Mercy::Seed(seed) => seed | 1,
    };
    for file in files_below(root)? {
        let meta = std::fs::symlink_metadata(&file)?;
        let sizes = journal.synced_sizes();
        let Some(&synced) = sizes.get(&meta.ino()) else {
            continue;
        };
        if meta.len() > synced {
            let kept = synced + part(&mut rng, meta.len() - synced);
            std::fs::OpenOptions::new()
                .write(true)
                .open(&file)?
                .set_len(kept)?;
            report.cut_files += 1;
            report.cut_bytes += meta.len() - kept;
        }
    }
    let pending = pending_names(journal);
    let kept = part(&mut rng, pending.len() as u64) as usize;
    for event in pending.into_iter().skip(kept).rev() {
        undo(event, saved)?;
        report.undone_names += 1;
    }
    Ok(report)
}

/// A number up to `most`: 0 without mercy.
fn part(rng: &mut u64, most: u64) -> u64 {
    if *rng == 0 || most == 0 {
        return 0;
    }
    *rng ^= *rng << 13;
    *rng ^= *rng >> 7;
    *rng ^= *rng << 17;
    *rng % (most + 1)
}

/// Name changes whose directory was not synced afterwards, oldest first.
fn pending_names(journal: &Journal) -> Vec<&Event> {
    let mut pending: Vec<&Event> = Vec::new();
    for event in &journal.events {
        match event {
            Event::SyncDir { path } => pending.retain(|event| !is_in(event, path)),
            Event::Create { .. }
            | Event::Link { .. }
            | Event::Mkdir { .. }
            | Event::Rename { .. }
            | Event::Unlink { .. } => pending.push(event),
            Event::Sync { .. } | Event::Cut { .. } | Event::Stop { .. } => {}
        }
    }
    pending
}

fn is_in(event: &Event, directory: &Path) -> bool {
    let path = match event {
        Event::Create { path, .. }
        | Event::Link { path, .. }
        | Event::Mkdir { path }
        | Event::Unlink { path, .. } => path,
        Event::Rename { to, .. } => to,
        Event::Sync { .. } | Event::SyncDir { .. } | Event::Cut { .. } | Event::Stop { .. } => {
            return false;
        }
    };
    path.parent() == Some(directory)
}

fn undo(event: &Event, saved: &Path) -> io::Result<()> {
    match event {
        Event::Create { path, .. } | Event::Link { path, .. } => {
            ignore_missing(std::fs::remove_file(path))
        }
        Event::Mkdir { path } => ignore_missing(std::fs::remove_dir_all(path)),
        Event::Rename {
            from,
            to,
            saved: replaced,
            ..
        } => {
            ignore_missing(std::fs::rename(to, from))?;
            restore(replaced.as_deref(), saved, to)
        }
        Event::Unlink {
            path,
            saved: removed,
        } => restore(removed.as_deref(), saved, path),
        Event::Sync { .. } | Event::SyncDir { .. } | Event::Cut { .. } | Event::Stop { .. } => {
            Ok(())
        }
    }
}

fn restore(name: Option<&str>, saved: &Path, to: &Path) -> io::Result<()> {
    match name {
        Some(name) if to.parent().is_some_and(Path::exists) => {
            std::fs::hard_link(saved.join(name), to)
        }
        _ => Ok(()),
    }
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}
