//! What tests share: captures, a disk that fails on order, and images of a directory as a power cut leaves it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::capture::Capture;
use crate::disk::{Disk, OsDisk};
use crate::options::StoreOptions;

/// A capture of this payload.
pub(crate) fn capture(url: &str, payload: impl Into<Bytes>) -> Capture {
    Capture {
        url: url.to_owned(),
        captured_at_unix_ms: 1_790_000_000_123,
        protocol: "http/1.1".to_owned(),
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![("Content-Type".to_owned(), b"text/html".to_vec())],
        peer_addr: Some("192.0.2.7:80".parse().unwrap()),
        payload: payload.into(),
        truncated: None,
    }
}

/// Bytes that differ for each seed and do not compress, so that a record's size is about the payload's.
pub(crate) fn noise(seed: u64, size_bytes: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes = (0..size_bytes).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.collect()
}

/// Options whose index is flushed at rotation and at the end only.
pub(crate) fn options(dir: &Path) -> StoreOptions {
    let mut options = StoreOptions::new(dir);
    options.index_flush_interval_ms = 3_600_000;
    options.index_flush_size_bytes = 1 << 36;
    options
}

/// What a faulty disk does next, and what it saw.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Bytes that can still be written; nothing = no bound.
    pub(crate) space_left_bytes: Option<u64>,
    /// Syncs of segments that fail from now on. A failed sync loses what was not synced: the bytes read as zeros.
    pub(crate) failing_syncs: u32,
    /// Truncations that fail from now on.
    pub(crate) failing_truncates: u32,
    /// Syncs of the directory that fail from now on.
    pub(crate) failing_dir_syncs: u32,
    /// What was done, in order; a directory sync tells how many segments had their name.
    pub(crate) calls: Vec<String>,
    /// Copies the directory as it is right before the next sync of a segment.
    pub(crate) image_at_sync: Option<(PathBuf, PathBuf)>,
    /// How much of each file in the image was synced, by name.
    pub(crate) image_synced_bytes: HashMap<String, u64>,
    /// Size of each file at its last good sync, by inode. A file not in it was not written: it is on the disk as it is.
    synced_bytes: HashMap<u64, u64>,
}

impl Faults {
    fn take_image(&mut self, from: &Path, to: &Path) {
        copy_dir(from, to);
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let synced_bytes = self
                .synced_bytes
                .get(&metadata.ino())
                .copied()
                .unwrap_or(metadata.len());
            self.image_synced_bytes
                .insert(entry.file_name().into_string().unwrap(), synced_bytes);
        }
    }
}

/// A disk that fails on order.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultyDisk(pub(crate) Arc<Mutex<Faults>>);

impl Disk for FaultyDisk {
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        let mut faults = self.0.lock();
        faults.calls.push("append".to_owned());
        let before = file.metadata()?;
        faults
            .synced_bytes
            .entry(before.ino())
            .or_insert(before.len());
        let fits = faults
            .space_left_bytes
            .map_or(bytes.len(), |left| bytes.len().min(left as usize));
        if let Some(left) = faults.space_left_bytes.as_mut() {
            *left -= fits as u64;
        }
        file.write_all(&bytes[..fits])?;
        if fits < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        let mut faults = self.0.lock();
        faults.calls.push("sync".to_owned());
        let metadata = file.metadata()?;
        if let Some((from, to)) = faults.image_at_sync.take() {
            faults.take_image(&from, &to);
        }
        if faults.failing_syncs > 0 {
            faults.failing_syncs -= 1;
            let synced = faults
                .synced_bytes
                .get(&metadata.ino())
                .copied()
                .unwrap_or(0);
            let lost = vec![0; (metadata.len() - synced) as usize];
            file.set_len(synced)?;
            (&*file).write_all(&lost)?;
            return Err(io::Error::other("injected"));
        }
        faults.synced_bytes.insert(metadata.ino(), metadata.len());
        OsDisk.sync_data(file)
    }

    fn truncate(&self, file: &File, size_bytes: u64) -> io::Result<()> {
        let mut faults = self.0.lock();
        if faults.failing_truncates > 0 {
            faults.failing_truncates -= 1;
            return Err(io::Error::other("injected"));
        }
        OsDisk.truncate(file, size_bytes)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let left = self.0.lock().space_left_bytes;
        left.map_or_else(|| OsDisk.free_bytes(dir), Ok)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut faults = self.0.lock();
        let segment_count = crate::segment::list(dir)?.len();
        faults.calls.push(format!("sync names of {segment_count}"));
        if faults.failing_dir_syncs > 0 {
            faults.failing_dir_syncs -= 1;
            return Err(io::Error::other("injected"));
        }
        OsDisk.sync_dir(dir)
    }
}

/// Copies a store's directory, index included: without a log of its own the index on disk is what was flushed.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    // RocksDB removes files that it no longer needs when it likes; one that went away meanwhile means copying again.
    while let Err(error) = try_copy_dir(from, to) {
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
        fs::remove_dir_all(to).unwrap();
    }
}

fn try_copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            try_copy_dir(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Writes to a file in place.
pub(crate) fn overwrite(path: &Path, at_bytes: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .write_all_at(bytes, at_bytes)
        .unwrap();
}

/// Cuts a file.
pub(crate) fn cut(path: &Path, size_bytes: u64) {
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(size_bytes)
        .unwrap();
}
