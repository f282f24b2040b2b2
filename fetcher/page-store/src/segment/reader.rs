//! Reading a segment member by member; always ends, whatever the bytes are (case K4).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

use crate::error::BadRecord;
use crate::page::Place;
use crate::warc::{MEMBER_PREFIX_SIZE_BYTES, Member, MemberPrefix, Record, find_prefix};

/// Bytes looked through at a time for the next member.
const SEARCH_SIZE_BYTES: usize = 1024 * 1024;

/// Reads the members of one segment in order.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    file: File,
    number: u32,
    at_bytes: u64,
    end_bytes: u64,
}

/// A whole member with its record.
#[derive(Debug)]
pub(crate) struct FoundMember {
    pub(crate) place: Place,
    pub(crate) group_start_bytes: u64,
    pub(crate) record: Record,
}

/// Why there is no record.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    Bad {
        offset_bytes: u64,
        reason: BadRecord,
    },
}

impl SegmentReader {
    /// Reads from one offset to another; what lies beyond is as if it were not there.
    pub(crate) fn new(file: File, number: u32, from_bytes: u64, end_bytes: u64) -> SegmentReader {
        SegmentReader {
            file,
            number,
            at_bytes: from_bytes,
            end_bytes,
        }
    }

    /// Opens a segment by its path.
    pub(crate) fn open(
        path: &Path,
        number: u32,
        from_bytes: u64,
        end_bytes: u64,
    ) -> io::Result<SegmentReader> {
        Ok(SegmentReader::new(
            File::open(path)?,
            number,
            from_bytes,
            end_bytes,
        ))
    }

    /// The next record, or nothing at the end. After a bad one the reader stays where that begins: see [`Self::skip_bad`].
    pub(crate) fn next_member(&mut self) -> Result<Option<FoundMember>, ReadError> {
        if self.at_bytes >= self.end_bytes {
            return Ok(None);
        }
        let offset_bytes = self.at_bytes;
        let bad = |reason| ReadError::Bad {
            offset_bytes,
            reason,
        };
        let mut prefix = [0; MEMBER_PREFIX_SIZE_BYTES];
        self.read_exact(&mut prefix, offset_bytes)?;
        let prefix = MemberPrefix::parse(&prefix).map_err(bad)?;
        if prefix.member_size_bytes > self.end_bytes - offset_bytes {
            return Err(bad(BadRecord::Cut));
        }
        let mut member = vec![0; prefix.member_size_bytes as usize];
        self.read_exact(&mut member, offset_bytes)?;
        let inflated = Member::decode(&member).map_err(bad)?;
        let record = Record::parse(Bytes::from(inflated)).map_err(bad)?;
        let place = Place {
            segment: self.number,
            offset_bytes,
            size_bytes: prefix.member_size_bytes,
        };
        self.at_bytes = place.end_bytes();
        Ok(Some(FoundMember {
            place,
            group_start_bytes: prefix.group_start_bytes,
            record,
        }))
    }

    /// Moves past a bad record to the next place where one may begin; false when there is none.
    pub(crate) fn skip_bad(&mut self) -> io::Result<bool> {
        let mut from_bytes = self.at_bytes + 1;
        let mut window = vec![0; SEARCH_SIZE_BYTES];
        while from_bytes + MEMBER_PREFIX_SIZE_BYTES as u64 <= self.end_bytes {
            let size = (self.end_bytes - from_bytes).min(window.len() as u64) as usize;
            match self.file.read_exact_at(&mut window[..size], from_bytes) {
                Ok(()) => {}
                // The file became shorter than it was when the reader began: that is its end.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
            if let Some(found) = find_prefix(&window[..size]) {
                self.at_bytes = from_bytes + found as u64;
                return Ok(true);
            }
            // Windows overlap by one byte less than a prefix, so that none is missed at a seam.
            from_bytes += (size - MEMBER_PREFIX_SIZE_BYTES + 1) as u64;
        }
        self.at_bytes = self.end_bytes;
        Ok(false)
    }

    fn read_exact(&self, into: &mut [u8], at_bytes: u64) -> Result<(), ReadError> {
        if into.len() as u64 > self.end_bytes - at_bytes {
            return Err(ReadError::Bad {
                offset_bytes: at_bytes,
                reason: BadRecord::Cut,
            });
        }
        match self.file.read_exact_at(into, at_bytes) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ReadError::Bad {
                offset_bytes: at_bytes,
                reason: BadRecord::Cut,
            }),
            Err(error) => Err(ReadError::Io(error)),
        }
    }
}
