//! A model of a power cut.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::DiskStep;

/// What a power cut would leave: files as they were when last synced. The log's newest file is cut back to the bytes
/// that its last finished fsync covered; the state has only tables, which are synced when they are made.
#[derive(Default)]
pub(super) struct PowerCut {
    /// Sizes of the log's files when the last sync began: all of that is durable once it has ended.
    synced: Mutex<Vec<(PathBuf, u64)>>,
    pending: Mutex<Vec<(PathBuf, u64)>>,
}

impl PowerCut {
    fn sizes(dir: &Path) -> Vec<(PathBuf, u64)> {
        let entries = std::fs::read_dir(dir.join("log"))
            .into_iter()
            .flatten()
            .flatten();
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "log"));
        logs.map(|entry| (entry.path(), entry.metadata().map_or(0, |meta| meta.len())))
            .collect()
    }

    /// To be called before each step: when the next write begins, the sync before it has ended.
    pub(super) fn before(&self, dir: &Path, step: DiskStep) {
        match step {
            DiskStep::LogWrite => *self.synced.lock() = self.pending.lock().clone(),
            DiskStep::LogSync => *self.pending.lock() = Self::sizes(dir),
            _ => {}
        }
    }

    /// Everything queued so far has been acknowledged, so the last sync has ended.
    pub(super) fn settle(&self) {
        *self.synced.lock() = self.pending.lock().clone();
    }

    /// Copies an engine's directory as a power cut now would leave it. A copy that raced with a flush or a compaction
    /// is no moment of the disk's life, and is made again.
    pub(super) fn cut(&self, from: &Path, to: &Path) {
        loop {
            let before = Self::list(from);
            for part in ["log", "state"] {
                let _new = std::fs::remove_dir_all(to.join(part));
                std::fs::create_dir_all(to.join(part)).unwrap();
            }
            let copied = before.iter().all(|(path, _)| {
                let copy = to.join(path.strip_prefix(from).unwrap());
                std::fs::copy(path, copy).is_ok()
            });
            if copied && Self::list(from) == before {
                break;
            }
        }
        for (path, size_bytes) in self.synced.lock().iter() {
            let copy = to.join("log").join(path.file_name().unwrap());
            std::fs::OpenOptions::new()
                .write(true)
                .open(copy)
                .unwrap()
                .set_len(*size_bytes)
                .unwrap();
        }
    }

    fn list(dir: &Path) -> Vec<(PathBuf, u64)> {
        let parts = ["log", "state"].map(|part| std::fs::read_dir(dir.join(part)).unwrap());
        let entries = parts.into_iter().flatten().flatten();
        let kept =
            entries.filter(|entry| entry.file_name() != "LOCK" && !is_info_log(&entry.path()));
        let mut list: Vec<_> = kept
            .map(|entry| (entry.path(), entry.metadata().map_or(0, |meta| meta.len())))
            .collect();
        list.sort();
        list
    }
}

fn is_info_log(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("LOG"))
}
