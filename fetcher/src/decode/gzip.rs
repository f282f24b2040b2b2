//! gzip (RFC 1952): any number of members.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use super::sink::Sink;
use super::{DecodeError, Pushed, Stage};

pub(super) struct Gzip(MultiGzDecoder<Sink>);

impl Gzip {
    pub(super) fn new() -> Self {
        Self(MultiGzDecoder::new(Sink::default()))
    }

    fn outcome(
        &mut self,
        result: io::Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        let sink = self.0.get_mut();
        sink.drain_to(out);
        match result {
            _ if sink.full => Ok(Pushed::Full),
            Ok(()) => Ok(Pushed::Taken),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(DecodeError::Incomplete)
            }
            Err(_) => Err(DecodeError::Damaged),
        }
    }
}

impl Stage for Gzip {
    fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        self.0.get_mut().room_bytes = room_bytes;
        let mut result = self.0.write_all(input);
        if result.is_ok() {
            result = self.0.flush();
        }
        self.outcome(result, out)
    }

    fn finish(&mut self, room_bytes: usize, out: &mut Vec<u8>) -> Result<Pushed, DecodeError> {
        self.0.get_mut().room_bytes = room_bytes;
        let result = self.0.try_finish();
        self.outcome(result, out)
    }
}
