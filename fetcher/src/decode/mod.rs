//! Undoes content codings while a body streams, with a bound on what may come out of each push.
//!
//! Push-shaped on purpose: the loop that reads the connection keeps its deadlines and counts, and a bomb is stopped inside the
//! decoder, before its output exists. `gzip`, `deflate` (zlib or, as some servers send it, raw), `br` and `zstd`
//! (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).

mod brotli;
mod gzip;
mod inflate;
mod sink;
#[cfg(test)]
mod tests;
mod zstd;

use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::limits::MAX_CODINGS;

use self::brotli::Brotli;
use self::gzip::Gzip;
use self::inflate::Inflate;
use self::zstd::Zstd;

/// What our `Accept-Encoding` says.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Why a body cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A coding that we did not ask for and do not know, or too many of them.
    #[error("unknown or too many content codings")]
    Unsupported,
    /// The bytes are not of the coding they claim.
    #[error("the content coding is damaged")]
    Damaged,
    /// The body ended inside the coding.
    #[error("the body ends inside its content coding")]
    Incomplete,
}

/// What a push came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// All of the input was taken.
    Taken,
    /// There was no room for all of the output; what fitted is there, the rest is lost.
    Full,
}

/// One coding being undone.
trait Stage: Send {
    /// Decodes `input`, appending at most `room_bytes` to `out`.
    fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError>;

    /// The input is over: is the coding?
    fn finish(&mut self, room_bytes: usize, out: &mut Vec<u8>) -> Result<Pushed, DecodeError>;
}

/// All codings of one body, undone in turn.
pub struct Decoder {
    stages: Vec<Box<dyn Stage>>,
    any_input: bool,
}

impl Decoder {
    /// For a response with these headers; none if its body is not coded.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Unsupported`].
    pub fn for_response(headers: &HeaderMap) -> Result<Option<Self>, DecodeError> {
        let mut stages: Vec<Box<dyn Stage>> = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| DecodeError::Unsupported)?;
            for coding in value
                .split(',')
                .map(|coding| coding.trim().to_ascii_lowercase())
            {
                let stage: Box<dyn Stage> = match coding.as_str() {
                    // "utf-8" and the like are mistakes for another field; they change no byte.
                    "" | "identity" | "none" | "utf-8" | "utf8" => continue,
                    "gzip" | "x-gzip" => Box::new(Gzip::new()),
                    "deflate" => Box::new(Inflate::new()),
                    "br" => Box::new(Brotli::new()),
                    "zstd" => Box::new(Zstd::new()?),
                    _ => return Err(DecodeError::Unsupported),
                };
                if stages.len() == MAX_CODINGS {
                    return Err(DecodeError::Unsupported);
                }
                // The last one applied is the first to be undone.
                stages.insert(0, stage);
            }
        }
        Ok((!stages.is_empty()).then_some(Self {
            stages,
            any_input: false,
        }))
    }

    /// Decodes a piece, appending at most `room_bytes` to `out`. After [`Pushed::Full`] nothing more may be pushed.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Damaged`].
    pub fn push(
        &mut self,
        input: &[u8],
        room_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Pushed, DecodeError> {
        self.any_input |= !input.is_empty();
        run(&mut self.stages, input, room_bytes, out)
    }

    /// The body is over; appends what was held back. A body without a byte is empty in every coding.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Incomplete`] or [`DecodeError::Damaged`].
    pub fn finish(&mut self, room_bytes: usize, out: &mut Vec<u8>) -> Result<Pushed, DecodeError> {
        if !self.any_input {
            return Ok(Pushed::Taken);
        }
        let mut stages = self.stages.as_mut_slice();
        let start = out.len();
        while let Some((stage, rest)) = stages.split_first_mut() {
            let room_left = room_bytes.saturating_sub(out.len() - start);
            let mut last = Vec::new();
            if stage.finish(room_left, &mut last)? == Pushed::Full
                || run(rest, &last, room_left, out)? == Pushed::Full
            {
                return Ok(Pushed::Full);
            }
            stages = rest;
        }
        Ok(Pushed::Taken)
    }
}

fn run(
    stages: &mut [Box<dyn Stage>],
    input: &[u8],
    room_bytes: usize,
    out: &mut Vec<u8>,
) -> Result<Pushed, DecodeError> {
    match stages {
        [] if input.len() > room_bytes => {
            out.extend_from_slice(&input[..room_bytes]);
            Ok(Pushed::Full)
        }
        [] => {
            out.extend_from_slice(input);
            Ok(Pushed::Taken)
        }
        [last] => last.push(input, room_bytes, out),
        [stage, rest @ ..] => {
            // A layer within may not be larger than the body may.
            let mut between = Vec::new();
            let pushed = stage.push(input, room_bytes, &mut between)?;
            let below = run(rest, &between, room_bytes, out)?;
            Ok(if pushed == Pushed::Full {
                pushed
            } else {
                below
            })
        }
    }
}
