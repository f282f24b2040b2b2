//! br (RFC 7932).

use std::io::Write;

use brotli::DecompressorWriter;

use super::sink::Sink;
use super::{DecodeError, Pushed, Stage};
use crate::limits::DECODE_CHUNK_BYTES;

pub(super) struct Brotli(Box<DecompressorWriter<Sink>>);

impl Brotli {
    pub(super) fn new() -> Self {
        Self(Box::new(DecompressorWriter::new(
            Sink::default(),
            DECODE_CHUNK_BYTES,
        )))
    }

    fn outcome(
        &mut self,
        failed: Option<DecodeError>,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        let sink = self.0.get_mut();
        sink.drain_to(out);
        match failed {
            _ if sink.full => Ok(Pushed::Full),
            None => Ok(Pushed::Taken),
            Some(error) => Err(error),
        }
    }
}

impl Stage for Brotli {
    fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        self.0.get_mut().room_bytes = room_bytes;
        let failed = self
            .0
            .write_all(input)
            .is_err()
            .then_some(DecodeError::Damaged);
        self.outcome(failed, out)
    }

    fn finish(&mut self, room_bytes: usize, out: &mut Vec<u8>) -> Result<Pushed, DecodeError> {
        self.0.get_mut().room_bytes = room_bytes;
        let failed = self.0.close().is_err().then_some(DecodeError::Incomplete);
        self.outcome(failed, out)
    }
}
