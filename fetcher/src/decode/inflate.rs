//! `deflate`: the zlib format (RFC 1950) by its definition, raw deflate (RFC 1951) by the habit of some servers. The first two bytes tell.

use flate2::{Decompress, FlushDecompress, Status};

use super::{DecodeError, Pushed, Stage};
use crate::limits::DECODE_CHUNK_BYTES;

pub(super) struct Inflate {
    /// The first byte while the second is awaited.
    first: Option<u8>,
    state: Option<Decompress>,
    ended: bool,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            first: None,
            state: None,
            ended: false,
        }
    }

    fn inflate(
        &mut self,
        mut input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        let Some(state) = &mut self.state else {
            return Ok(Pushed::Taken);
        };
        let mut scratch = [0; DECODE_CHUNK_BYTES];
        let mut left = room_bytes;
        while !self.ended {
            let (before_in, before_out) = (state.total_in(), state.total_out());
            let status = state
                .decompress(input, &mut scratch, FlushDecompress::None)
                .map_err(|_| DecodeError::Damaged)?;
            let taken = usize::try_from(state.total_in() - before_in).unwrap_or(input.len());
            let made = usize::try_from(state.total_out() - before_out).unwrap_or(0);
            input = &input[taken..];
            out.extend_from_slice(&scratch[..made.min(left)]);
            if made > left {
                return Ok(Pushed::Full);
            }
            left -= made;
            // Bytes after the end are ignored, as browsers do.
            self.ended = status == Status::StreamEnd;
            if taken == 0 && made == 0 {
                break;
            }
        }
        Ok(Pushed::Taken)
    }
}

impl Stage for Inflate {
    fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        if self.state.is_some() {
            return self.inflate(input, room_bytes, out);
        }
        let head: Vec<u8> = self
            .first
            .into_iter()
            .chain(input.iter().copied())
            .take(2)
            .collect();
        let [cmf, flg] = head[..] else {
            self.first = head.first().copied();
            return Ok(Pushed::Taken);
        };
        let is_zlib = cmf & 0x0f == 8 && (u16::from(cmf) << 8 | u16::from(flg)).is_multiple_of(31);
        self.state = Some(Decompress::new(is_zlib));
        if let Some(first) = self.first.take() {
            self.inflate(&[first], room_bytes, out)?;
        }
        self.inflate(input, room_bytes, out)
    }

    fn finish(&mut self, _room_bytes: usize, _out: &mut Vec<u8>) -> Result<Pushed, DecodeError> {
        if self.ended {
            Ok(Pushed::Taken)
        } else {
            Err(DecodeError::Incomplete)
        }
    }
}
