//! zstd (RFC 8878), with the window that RFC 9659 grants content codings: a frame may not ask for more memory.

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{DecodeError, Pushed, Stage};
use crate::limits::{DECODE_CHUNK_BYTES, ZSTD_WINDOW_LOG};

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// Whether the input so far ends with a whole frame.
    frame_ended: bool,
}

impl Zstd {
    pub(super) fn new() -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new().map_err(|_| DecodeError::Unsupported)?;
        decoder
            .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
            .map_err(|_| DecodeError::Unsupported)?;
        Ok(Self {
            decoder,
            frame_ended: false,
        })
    }
}

impl Stage for Zstd {
    fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        let mut scratch = vec![0; DECODE_CHUNK_BYTES];
        let mut input = InBuffer::around(input);
        let mut left = room_bytes;
        loop {
            let mut output = OutBuffer::around(scratch.as_mut_slice());
            let before = input.pos();
            let hint = self
                .decoder
                .run(&mut input, &mut output)
                .map_err(|_| DecodeError::Damaged)?;
            let made = output.pos();
            // A call that neither takes nor makes says nothing about the frame.
            if made > 0 || input.pos() > before {
                self.frame_ended = hint == 0;
            }
            out.extend_from_slice(&scratch[..made.min(left)]);
            if made > left {
                return Ok(Pushed::Full);
            }
            left -= made;
            let all_in = input.pos() == input.src.len();
            if all_in && (made < DECODE_CHUNK_BYTES || hint == 0)
                || (made == 0 && input.pos() == before)
            {
                return Ok(Pushed::Taken);
            }
        }
    }

    fn finish(&mut self, _room_bytes: usize, _out: &mut Vec<u8>) -> Result<Pushed, DecodeError> {
        if self.frame_ended {
            Ok(Pushed::Taken)
        } else {
            Err(DecodeError::Incomplete)
        }
    }
}
