//! A payload that its sender deflated: it travels small, and is compressed once however many stores take it.

use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// What a payload is followed by in a record (WARC 1.1 section 4), as a last block of deflate that is stored as it is.
pub(crate) const END_BLOCK: [u8; 9] = [1, 4, 0, 0xfb, 0xff, b'\r', b'\n', b'\r', b'\n'];
/// The same, inflated.
pub(crate) const END: &[u8] = b"\r\n\r\n";

/// A payload as raw deflate (RFC 1951) without a last block, filled up to a whole byte by a sync flush: other blocks may stand
/// before it and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deflated(Bytes);

/// Bytes that are no such thing, or not of the size that was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{deflated_bytes} bytes do not inflate to {size_bytes}: {reason}")]
pub struct BadDeflate {
    /// How many bytes there are.
    pub deflated_bytes: u64,
    /// How many they should become.
    pub size_bytes: u64,
    /// What is wrong with them.
    pub reason: String,
}

impl Deflated {
    /// Deflates a payload; none where that saves less than an eighth, as with pictures.
    #[must_use]
    pub fn of(payload: &[u8], level: u32) -> Option<Self> {
        let most_bytes = payload.len() - payload.len() / 8;
        let mut bytes = Vec::with_capacity(payload.len() / 3 + 64);
        deflate_piece(payload, &mut bytes, level, most_bytes)
            .then(|| Self(bytes.into()))
            .filter(|deflated| deflated.0.len() < most_bytes)
    }

    /// Bytes that came from elsewhere. What they are shows when a store takes them.
    #[must_use]
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The payload, which must have this size. Inflated here is what a record holds, its end included: so whatever passes
    /// stands on its own, refers to nothing before it, and ends with a whole block.
    pub(crate) fn inflate(&self, size_bytes: u64) -> Result<Bytes, BadDeflate> {
        let bad = |reason: &str| BadDeflate {
            deflated_bytes: self.0.len() as u64,
            size_bytes,
            reason: reason.to_owned(),
        };
        let size = usize::try_from(size_bytes).map_err(|_| bad("more than memory holds"))?;
        let mut out = Vec::with_capacity(size.saturating_add(END.len()));
        let mut inflater = Decompress::new(false);
        let (mut status, pieces) = (Status::Ok, [&self.0[..], &END_BLOCK[..]]);
        for piece in pieces {
            if status == Status::StreamEnd {
                return Err(bad("it has a last block"));
            }
            status = inflate_piece(&mut inflater, piece, &mut out).map_err(|why| bad(&why))?;
        }
        if status != Status::StreamEnd || out.len() != size + END.len() || !out.ends_with(END) {
            return Err(bad("it does not end with a whole block"));
        }
        out.truncate(size);
        Ok(out.into())
    }
}

/// Adds a piece as blocks of deflate that end at a whole byte. False when that comes to more than `most_bytes`, or fails.
pub(crate) fn deflate_piece(
    piece: &[u8],
    out: &mut Vec<u8>,
    level: u32,
    most_bytes: usize,
) -> bool {
    let mut deflater = Compress::new(Compression::new(level), false);
    let mut rest = piece;
    loop {
        let taken = deflater.total_in();
        if deflater
            .compress_vec(rest, out, FlushCompress::Sync)
            .is_err()
        {
            return false;
        }
        // What was taken is no more than there was.
        rest = &rest[(deflater.total_in() - taken) as usize..];
        // Room is left over: nothing is held back.
        if rest.is_empty() && out.len() < out.capacity() {
            return true;
        }
        if out.len() > most_bytes {
            return false;
        }
        out.reserve(out.len().max(1_024) / 2);
    }
}

/// Inflates a whole piece into the room that is left.
fn inflate_piece(
    inflater: &mut Decompress,
    piece: &[u8],
    out: &mut Vec<u8>,
) -> Result<Status, String> {
    let mut rest = piece;
    loop {
        let before = (inflater.total_in(), inflater.total_out());
        let status = inflater
            .decompress_vec(rest, out, FlushDecompress::None)
            .map_err(|error| error.to_string())?;
        rest = &rest[(inflater.total_in() - before.0) as usize..];
        match (status, rest.is_empty()) {
            (Status::StreamEnd, false) => return Err("it goes on after its last block".to_owned()),
            (_, true) => return Ok(status),
            _ if before == (inflater.total_in(), inflater.total_out()) => {
                return Err("it becomes more".to_owned());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use proptest::prelude::*;

    fn text(size: usize) -> Vec<u8> {
        b"<p>the same again, and once more</p>"
            .iter()
            .copied()
            .cycle()
            .take(size)
            .collect()
    }

    #[test]
    fn what_shrinks_comes_back_and_what_does_not_is_left() {
        for size in [100, 5_000, 300_000] {
            let payload = text(size);
            let deflated = Deflated::of(&payload, 4).unwrap();
            assert!(deflated.bytes().len() < size / 2 + 32);
            assert_eq!(deflated.inflate(size as u64).unwrap(), payload);
        }
        assert_eq!(Deflated::of(&noise(1, 100_000), 4), None);
        assert_eq!(Deflated::of(b"", 4), None);
    }

    #[test]
    fn another_size_is_refused() {
        let deflated = Deflated::of(&text(5_000), 4).unwrap();
        for size_bytes in [0, 4_999, 5_001] {
            assert!(deflated.inflate(size_bytes).is_err(), "{size_bytes}");
        }
    }

    #[test]
    fn what_has_no_whole_block_at_its_end_is_refused() {
        let whole = Deflated::of(&text(5_000), 4).unwrap();
        for cut in 1..whole.bytes().len() {
            let cut = Deflated(whole.0.slice(..whole.0.len() - cut));
            // Without the whole of an empty block at the end it is still the payload.
            let inflated = cut.inflate(5_000);
            assert!(inflated.is_err() || inflated.unwrap() == text(5_000));
        }
        for cut in 1..=4 {
            let cut = Deflated(whole.0.slice(..whole.0.len() - cut));
            assert!(cut.inflate(5_000).is_err());
        }
        // A last block, with nothing or with something behind it.
        let mut ended = whole.0.to_vec();
        ended.extend_from_slice(&END_BLOCK);
        for size_bytes in [5_000, 5_004] {
            let ended = Deflated(ended.clone().into());
            assert!(ended.inflate(size_bytes).is_err());
        }
        ended.push(0);
        assert!(Deflated(ended.into()).inflate(5_004).is_err());
        // Its sync marker is content of a stored block that is not whole.
        let inside = Deflated(Bytes::from_static(&[
            0, 9, 0, 0xf6, 0xff, 0, 0, 0, 0xff, 0xff,
        ]));
        assert!((0..16).all(|size_bytes| inside.inflate(size_bytes).is_err()));
    }

    #[test]
    fn what_refers_to_bytes_before_it_is_refused() {
        let mut deflater = Compress::new(Compression::new(6), false);
        let dictionary = text(200);
        let mut out = Vec::with_capacity(4_096);
        let taken = deflater.compress_vec(&dictionary, &mut out, FlushCompress::Sync);
        assert!(matches!(taken, Ok(Status::Ok)));
        let first = out.len();
        let taken = deflater.compress_vec(&dictionary, &mut out, FlushCompress::Sync);
        assert!(matches!(taken, Ok(Status::Ok)));
        let second = Deflated(out.split_off(first).into());
        assert!(second.bytes().len() < 40, "it refers to the first piece");
        assert!(second.inflate(200).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_inflated_or_refused(bytes: Vec<u8>, size_bytes in 0u64..4_096) {
            if let Ok(payload) = Deflated(bytes.into()).inflate(size_bytes) {
                prop_assert_eq!(payload.len() as u64, size_bytes);
            }
        }

        #[test]
        fn any_text_comes_back(words in prop::collection::vec("[a-e]{1,4}", 0..400), level in 1u32..=9) {
            let payload = words.join(" ").into_bytes();
            if let Some(deflated) = Deflated::of(&payload, level) {
                prop_assert_eq!(deflated.inflate(payload.len() as u64).unwrap(), payload);
            }
        }
    }
}
