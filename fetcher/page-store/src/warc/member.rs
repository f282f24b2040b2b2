//! One record as one gzip member (RFC 1952), with an extra field of this store in the member's header.
//!
//! ```text
//! 1f 8b 08 04  mtime=0 (4)  xfl os  20 00   'E' 's' 16 00   member size (8, LE)  group start (8, LE)   deflate ... crc32 isize
//! ```
//!
//! Other readers skip the extra field. It gives two things: **member size**, so that a reader takes a record as one slice; and
//! **group start**, the offset in the file at which the group of records began that shares this record's fsync. Everything
//! before a record's group start was durable before the record was written. So when the tail of a file is damaged at byte X and a
//! whole record further on has a group start above X, durable bytes were lost there, and cutting the file would lose more.

use std::io::{Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compression, Crc, GzBuilder};

use crate::deflated::{Deflated, END, END_BLOCK, deflate_piece};
use crate::error::BadRecord;
use crate::limits;

/// Size of the fixed part: gzip header, length of the extra field, the extra field.
pub(crate) const MEMBER_PREFIX_SIZE_BYTES: usize = 32;
const MEMBER_SIZE_OFFSET: usize = 16;
/// Where the group start stands in a member; the writer fills it in.
pub(crate) const GROUP_START_OFFSET: usize = 24;
const LEAD: [u8; 8] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0];
/// After the two bytes that depend on the level: extra length, subfield name, subfield length.
const SUBFIELD: [u8; 6] = [20, 0, b'E', b's', 16, 0];
/// Neither the smallest nor the fastest, by an unknown system (RFC 1952 section 2.3.1).
const XFL_OS: [u8; 2] = [0, 255];

/// A compressed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member(pub(crate) Vec<u8>);

/// The fixed part of a member, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberPrefix {
    pub(crate) member_size_bytes: u64,
    pub(crate) group_start_bytes: u64,
}

impl Member {
    /// Compresses the pieces of a record as one member. Its group start is zero until the writer knows it.
    pub(crate) fn encode(pieces: &[&[u8]], level: u32) -> std::io::Result<Member> {
        let mut extra = SUBFIELD[2..].to_vec();
        extra.resize(20, 0);
        let total_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let out = Vec::with_capacity(total_bytes / 3 + 256);
        let mut encoder = GzBuilder::new()
            .extra(extra)
            .write(out, Compression::new(level));
        for piece in pieces {
            encoder.write_all(piece)?;
        }
        let mut bytes = encoder.finish()?;
        let size_bytes = bytes.len() as u64;
        bytes[MEMBER_SIZE_OFFSET..GROUP_START_OFFSET].copy_from_slice(&size_bytes.to_le_bytes());
        Ok(Member(bytes))
    }

    /// A member of a record whose payload, which must be checked, is deflated already.
    pub(crate) fn encode_around(
        lead: &[u8],
        payload: &[u8],
        deflated: &Deflated,
        level: u32,
    ) -> std::io::Result<Member> {
        let mut bytes =
            Vec::with_capacity(MEMBER_PREFIX_SIZE_BYTES + lead.len() + deflated.bytes().len() + 64);
        bytes.extend_from_slice(&LEAD);
        bytes.extend_from_slice(&XFL_OS);
        bytes.extend_from_slice(&SUBFIELD);
        bytes.resize(MEMBER_PREFIX_SIZE_BYTES, 0);
        if !deflate_piece(lead, &mut bytes, level, usize::MAX) {
            return Err(std::io::Error::other("deflate failed"));
        }
        bytes.extend_from_slice(deflated.bytes());
        bytes.extend_from_slice(&END_BLOCK);
        let mut crc = Crc::new();
        for piece in [lead, payload, END] {
            crc.update(piece);
        }
        bytes.extend_from_slice(&crc.sum().to_le_bytes());
        bytes.extend_from_slice(&crc.amount().to_le_bytes());
        let size_bytes = bytes.len() as u64;
        bytes[MEMBER_SIZE_OFFSET..GROUP_START_OFFSET].copy_from_slice(&size_bytes.to_le_bytes());
        Ok(Member(bytes))
    }

    /// Decompresses one whole member.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<u8>, BadRecord> {
        let gzip = |error: std::io::Error| BadRecord::Gzip(error.to_string());
        let mut decoder = GzDecoder::new(bytes);
        // The last four bytes say how much comes out; a hint, bounded by the most that deflate can do.
        let hint = bytes
            .last_chunk::<4>()
            .map_or(0, |size| u32::from_le_bytes(*size) as usize);
        let mut record = Vec::with_capacity(hint.min(bytes.len().saturating_mul(1_032)));
        (&mut decoder)
            .take(limits::RECORD_MAX_SIZE_BYTES + 1)
            .read_to_end(&mut record)
            .map_err(gzip)?;
        if record.len() as u64 > limits::RECORD_MAX_SIZE_BYTES {
            return Err(BadRecord::Gzip("longer than any record".to_owned()));
        }
        if !decoder.into_inner().is_empty() {
            return Err(BadRecord::Gzip("bytes after its end".to_owned()));
        }
        Ok(record)
    }
}

impl MemberPrefix {
    /// Reads the fixed part at the start of `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<MemberPrefix, BadRecord> {
        let Some(prefix) = bytes.first_chunk::<MEMBER_PREFIX_SIZE_BYTES>() else {
            return Err(BadRecord::Cut);
        };
        if prefix[..8] != LEAD || prefix[10..16] != SUBFIELD {
            return Err(BadRecord::NotAMember);
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&prefix[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let member_size_bytes = number(MEMBER_SIZE_OFFSET);
        if member_size_bytes < MEMBER_PREFIX_SIZE_BYTES as u64
            || member_size_bytes > limits::MEMBER_MAX_SIZE_BYTES
        {
            return Err(BadRecord::NotAMember);
        }
        Ok(MemberPrefix {
            member_size_bytes,
            group_start_bytes: number(GROUP_START_OFFSET),
        })
    }
}

/// The first place in `bytes` where a member may begin.
pub(crate) fn find_prefix(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(MEMBER_PREFIX_SIZE_BYTES)
        .position(|window| window[0] == LEAD[0] && MemberPrefix::parse(window).is_ok())
}
