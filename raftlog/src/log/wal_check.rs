//! Tells a torn tail of the log database's write-ahead log from damage in its middle, before RocksDB opens it.
//!
//! RocksDB's own recovery modes do not: the lenient ones also drop whole records behind a damaged one, which were
//! acknowledged. Here every batch is synced before the next is written, so only the last batch can be torn by a power
//! cut: a bad place with nothing whole behind it is a torn tail and is cut off; a bad place before a whole record is
//! damage, and the replica must be seeded again.
//!
//! Format: blocks of 32 KiB; a record is one fragment (type 1) or first, middle.., last (2, 3.., 4), none crossing a
//! block; a fragment is masked CRC-32C of type and data (4 bytes), length (2), type (1), data, little-endian; fewer
//! than 7 bytes at a block's end are zero.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::crc32c::crc32c;

const BLOCK_BYTES: usize = 32 * 1024;
const HEADER_BYTES: usize = 7;

/// What was found in a write-ahead log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WalState {
    /// Whole records up to the end.
    Whole,
    /// Whole records up to this offset, and behind it nothing whole.
    TornAt(u64),
    /// A damaged place at this offset, with whole records behind it.
    DamagedAt(u64),
}

/// Why the log may not be opened.
#[derive(Debug)]
pub(crate) enum WalError {
    Damaged { file: PathBuf, offset: u64 },
    Io { file: PathBuf, error: io::Error },
}

/// Checks the write-ahead logs of a database directory and cuts the torn tail of the newest. Returns the bytes cut.
pub(crate) fn repair(dir: &Path) -> Result<u64, WalError> {
    let files = wal_files(dir).map_err(|error| WalError::Io {
        file: dir.to_owned(),
        error,
    })?;
    let mut cut_bytes = 0;
    for (place, file) in files.iter().enumerate() {
        let fail = |error| WalError::Io {
            file: file.clone(),
            error,
        };
        let mut bytes = Vec::new();
        File::open(file)
            .and_then(|mut wal| wal.read_to_end(&mut bytes))
            .map_err(fail)?;
        match check(&bytes) {
            WalState::Whole => {}
            WalState::TornAt(offset) if place + 1 == files.len() => {
                cut_bytes = bytes.len() as u64 - offset;
                cut(file, offset).map_err(fail)?;
            }
            WalState::TornAt(offset) | WalState::DamagedAt(offset) => {
                return Err(WalError::Damaged {
                    file: file.clone(),
                    offset,
                });
            }
        }
    }
    Ok(cut_bytes)
}

fn wal_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .and_then(|stem| stem.parse::<u64>().ok());
        if let (Some(number), Some("log")) = (number, path.extension().and_then(|ext| ext.to_str()))
        {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

fn cut(file: &Path, offset: u64) -> io::Result<()> {
    let wal = OpenOptions::new().write(true).open(file)?;
    wal.set_len(offset)?;
    wal.sync_all()
}

/// One fragment that is whole.
struct Fragment {
    kind: u8,
    end: usize,
}

/// Reads the fragment at `start`, if there is a whole one.
fn fragment(bytes: &[u8], start: usize) -> Option<Fragment> {
    let header = bytes.get(start..start + HEADER_BYTES)?;
    let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
    let end = start + HEADER_BYTES + length;
    if start % BLOCK_BYTES + HEADER_BYTES + length > BLOCK_BYTES || !(1..=4).contains(&header[6]) {
        return None;
    }
    let checksum = crc32c(bytes.get(start + HEADER_BYTES - 1..end)?);
    let masked = checksum.rotate_right(15).wrapping_add(0xa282_ead8);
    let stored = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    (masked == stored).then_some(Fragment {
        kind: header[6],
        end,
    })
}

/// Judges the bytes of one write-ahead log.
pub(crate) fn check(bytes: &[u8]) -> WalState {
    let mut at = 0;
    let mut record_start = 0;
    let mut inside = false;
    while at < bytes.len() {
        let block_left = BLOCK_BYTES - at % BLOCK_BYTES;
        if block_left < HEADER_BYTES {
            at += block_left.min(bytes.len() - at);
            continue;
        }
        let next = fragment(bytes, at).filter(|found| inside == matches!(found.kind, 3 | 4));
        let Some(found) = next else {
            let bad = if inside { record_start } else { at };
            return if record_follows(bytes, at + 1) {
                WalState::DamagedAt(at as u64)
            } else {
                WalState::TornAt(bad as u64)
            };
        };
        if !inside {
            record_start = at;
        }
        inside = matches!(found.kind, 2 | 3);
        at = found.end;
    }
    if inside {
        WalState::TornAt(record_start as u64)
    } else {
        WalState::Whole
    }
}

/// Whether a record begins anywhere from `from` on. A damaged length hides where fragments begin, so each place is
/// tried.
fn record_follows(bytes: &[u8], from: usize) -> bool {
    (from..bytes.len().saturating_sub(HEADER_BYTES - 1))
        .any(|at| matches!(bytes[at + 6], 1 | 2) && fragment(bytes, at).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_fragment(wal: &mut Vec<u8>, kind: u8, data: &[u8]) {
        let mut checked = vec![kind];
        checked.extend_from_slice(data);
        let masked = crc32c(&checked).rotate_right(15).wrapping_add(0xa282_ead8);
        wal.extend_from_slice(&masked.to_le_bytes());
        wal.extend_from_slice(&(data.len() as u16).to_le_bytes());
        wal.extend_from_slice(&checked);
    }

    fn three_records() -> (Vec<u8>, usize, usize) {
        let mut wal = Vec::new();
        put_fragment(&mut wal, 1, b"first record");
        let second = wal.len();
        put_fragment(&mut wal, 1, b"second record, longer");
        let third = wal.len();
        put_fragment(&mut wal, 1, b"third");
        (wal, second, third)
    }

    #[test]
    fn every_cut_is_a_torn_tail() {
        let (wal, second, third) = three_records();
        for length in 0..wal.len() {
            let expected = match length {
                0 => WalState::Whole,
                _ if length == second || length == third => WalState::Whole,
                _ if length < second => WalState::TornAt(0),
                _ if length < third => WalState::TornAt(second as u64),
                _ => WalState::TornAt(third as u64),
            };
            assert_eq!(check(&wal[..length]), expected, "cut at {length}");
        }
    }

    #[test]
    fn a_flipped_byte_is_torn_in_the_last_record_only() {
        let (wal, second, third) = three_records();
        for place in 0..wal.len() {
            let mut bad = wal.clone();
            bad[place] ^= 0x40;
            let expected = match place {
                _ if place < second => WalState::DamagedAt(0),
                _ if place < third => WalState::DamagedAt(second as u64),
                _ => WalState::TornAt(third as u64),
            };
            assert_eq!(check(&bad), expected, "flip at {place}");
        }
    }

    #[test]
    fn fragments_over_blocks_and_zeros_behind() {
        let mut wal = Vec::new();
        put_fragment(&mut wal, 1, b"small");
        let start = wal.len();
        let data = vec![7; BLOCK_BYTES];
        let first = BLOCK_BYTES - start - HEADER_BYTES;
        put_fragment(&mut wal, 2, &data[..first]);
        let middle = wal.len();
        put_fragment(&mut wal, 4, &data[first..]);
        assert_eq!(check(&wal), WalState::Whole);
        assert_eq!(check(&wal[..middle]), WalState::TornAt(start as u64));
        let end = wal.len();
        wal.extend_from_slice(&[0; 4096]);
        assert_eq!(check(&wal), WalState::TornAt(end as u64));
        wal[start + 100] ^= 1;
        assert_eq!(check(&wal), WalState::TornAt(start as u64));
        put_fragment(&mut wal, 1, b"behind the zeros");
        assert_eq!(check(&wal), WalState::DamagedAt(start as u64));
    }
}
