//! Where a decoder writes: a buffer with a limit that fails the write that goes beyond it.

use std::io;

/// The buffer of one push.
#[derive(Debug, Default)]
pub(super) struct Sink {
    pub(super) bytes: Vec<u8>,
    pub(super) room_bytes: usize,
    pub(super) full: bool,
}

impl Sink {
    /// Moves what was written to `out`.
    pub(super) fn drain_to(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.bytes);
    }
}

impl io::Write for Sink {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let fits = buf
            .len()
            .min(self.room_bytes - self.bytes.len().min(self.room_bytes));
        self.bytes.extend_from_slice(&buf[..fits]);
        if fits < buf.len() {
            self.full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
