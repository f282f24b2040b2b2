//! A file of rows: eight bytes of magic, then blocks. A block is the size of its payload (4 bytes, little-endian), the first eight
//! bytes of the payload's SHA-256, and the payload: rows in the order of their keys, as the machine encodes them. Where the
//! file ends, and the SHA-256 of all of it, stands in the manifest.

use super::manifest::FileEntry;
use crate::output::CommandError;
use machine::backup::RowList;
use prost::Message;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"ESCROWS1";
/// Bytes of a block's payload at most; parts of an export are smaller.
const BLOCK_SIZE_BYTES: usize = 4 << 20;
const BUFFER_SIZE_BYTES: usize = 1 << 20;

/// A file being written.
pub(super) struct RowFile {
    path: PathBuf,
    out: BufWriter<File>,
    hash: Sha256,
    entry: FileEntry,
}

impl RowFile {
    /// Makes the file, or makes it empty.
    pub(super) fn create(dir: &Path, name: &str) -> Result<Self, CommandError> {
        let path = dir.join(name);
        let file = File::create(&path).map_err(|error| failed("make", &path, error))?;
        let mut rows = Self {
            path,
            out: BufWriter::with_capacity(BUFFER_SIZE_BYTES, file),
            hash: Sha256::new(),
            entry: FileEntry {
                name: name.to_owned(),
                ..FileEntry::default()
            },
        };
        rows.write(MAGIC)?;
        Ok(rows)
    }

    /// Adds a block; gives its rows.
    pub(super) fn add(&mut self, payload: &[u8]) -> Result<RowList, CommandError> {
        let rows =
            RowList::decode(payload).map_err(|error| CommandError::of("an export", error))?;
        let size = u32::try_from(payload.len()).ok();
        let size = size.filter(|_| payload.len() <= BLOCK_SIZE_BYTES);
        let size =
            size.ok_or_else(|| CommandError::Message("an export's part is too large".into()))?;
        self.write(&size.to_le_bytes())?;
        self.write(&check(payload))?;
        self.write(payload)?;
        self.entry.blocks += 1;
        self.entry.rows += rows.rows.len() as u64;
        Ok(rows)
    }

    /// Rows so far.
    pub(super) const fn rows(&self) -> u64 {
        self.entry.rows
    }

    /// On disk, whole.
    pub(super) fn finish(mut self) -> Result<FileEntry, CommandError> {
        let failed = |error| failed("write", &self.path, error);
        self.out.flush().map_err(failed)?;
        self.out.get_ref().sync_all().map_err(failed)?;
        self.entry.sha256 = hex::encode(self.hash.finalize());
        Ok(self.entry)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.hash.update(bytes);
        self.entry.size_bytes += bytes.len() as u64;
        self.out
            .write_all(bytes)
            .map_err(|error| failed("write", &self.path, error))
    }
}

/// A file being read, block by block.
pub(super) struct RowBlocks {
    path: PathBuf,
    input: BufReader<File>,
    left: u64,
}

impl RowBlocks {
    /// Opens it.
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<Self, CommandError> {
        let path = dir.join(&entry.name);
        let file = File::open(&path).map_err(|error| failed("open", &path, error))?;
        let mut blocks = Self {
            path,
            input: BufReader::with_capacity(BUFFER_SIZE_BYTES, file),
            left: entry.blocks,
        };
        let mut magic = [0; MAGIC.len()];
        blocks.read(&mut magic)?;
        if &magic != MAGIC {
            return Err(blocks.damaged("it is no file of rows"));
        }
        Ok(blocks)
    }

    /// The rows of the next block; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RowList>, CommandError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        let (mut size, mut expected) = ([0; 4], [0; 8]);
        self.read(&mut size)?;
        self.read(&mut expected)?;
        let size = u32::from_le_bytes(size) as usize;
        if size > BLOCK_SIZE_BYTES {
            return Err(self.damaged("a block is too large"));
        }
        let mut payload = vec![0; size];
        self.read(&mut payload)?;
        if check(&payload) != expected {
            return Err(self.damaged("a block is not what was written"));
        }
        let rows = RowList::decode(payload.as_slice());
        rows.map(Some)
            .map_err(|error| self.damaged(&format!("a block does not decode: {error}")))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), CommandError> {
        self.input.read_exact(bytes).map_err(|error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                self.damaged("it ends too early")
            } else {
                failed("read", &self.path, error)
            }
        })
    }

    fn damaged(&self, reason: &str) -> CommandError {
        damaged(&self.path, reason)
    }
}

/// Reads a file whole: its size, its hash, and every block.
pub(super) fn verify(dir: &Path, entry: &FileEntry) -> Result<(), CommandError> {
    let path = dir.join(&entry.name);
    let mut file = File::open(&path).map_err(|error| failed("open", &path, error))?;
    let (mut hash, mut size_bytes) = (Sha256::new(), 0u64);
    let mut buffer = vec![0; BUFFER_SIZE_BYTES];
    loop {
        let read = file.read(&mut buffer);
        match read.map_err(|error| failed("read", &path, error))? {
            0 => break,
            count => {
                hash.update(&buffer[..count]);
                size_bytes += count as u64;
            }
        }
    }
    if size_bytes != entry.size_bytes {
        let expected = entry.size_bytes;
        let reason = format!("it has {size_bytes} bytes, and {expected} were written");
        return Err(damaged(&path, &reason));
    }
    if hex::encode(hash.finalize()) != entry.sha256 {
        return Err(damaged(
            &path,
            "its SHA-256 is not that of what was written",
        ));
    }
    Ok(())
}

fn check(payload: &[u8]) -> [u8; 8] {
    let hash: [u8; 32] = Sha256::digest(payload).into();
    let mut check = [0; 8];
    check.copy_from_slice(&hash[..8]);
    check
}

/// A file that is not what was written.
pub(super) fn damaged(path: &Path, reason: &str) -> CommandError {
    CommandError::Message(format!("{} is damaged: {reason}", path.display()))
}

pub(super) fn failed(what: &str, path: &Path, error: std::io::Error) -> CommandError {
    CommandError::io(format!("cannot {what} {}", path.display()), error)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use machine::backup::BackupRow;

    fn list(rows: u8) -> RowList {
        let row = |n: u8| BackupRow {
            key: vec![b'S', n],
            value: vec![n; 100],
        };
        RowList {
            rows: (0..rows).map(row).collect(),
        }
    }

    fn written(dir: &Path) -> FileEntry {
        let mut file = RowFile::create(dir, "a.rows").unwrap();
        for rows in [3, 1] {
            assert_eq!(file.add(&list(rows).encode_to_vec()).unwrap(), list(rows));
        }
        assert_eq!(file.rows(), 4);
        file.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let entry = written(dir.path());
        verify(dir.path(), &entry).unwrap();
        let mut blocks = RowBlocks::open(dir.path(), &entry).unwrap();
        assert_eq!(blocks.next().unwrap(), Some(list(3)));
        assert_eq!(blocks.next().unwrap(), Some(list(1)));
        assert_eq!(blocks.next().unwrap(), None);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let entry = written(dir.path());
        let path = dir.path().join("a.rows");
        let whole = std::fs::read(&path).unwrap();
        let all_blocks = || -> Result<(), CommandError> {
            let mut blocks = RowBlocks::open(dir.path(), &entry)?;
            while blocks.next()?.is_some() {}
            Ok(())
        };
        for at in 0..whole.len() {
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(verify(dir.path(), &entry).is_err());
            assert!(all_blocks().is_err(), "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            std::fs::write(&path, changed).unwrap();
            assert!(verify(dir.path(), &entry).is_err());
            assert!(all_blocks().is_err(), "changed at {at}");
        }
    }
}
