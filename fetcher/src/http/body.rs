//! The pieces of a body, within deadlines, caps and rate, decoded.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::classify;
use super::error::FetchError;
use crate::config::{HttpConfig, Oversize};
use crate::contact::ContactTrace;
use crate::decode::{Decoder, Pushed};
use crate::limits::{MAX_COMPRESSION_RATIO, RATIO_FREE_BYTES};

/// Caps of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyCaps {
    /// Bytes as they travel.
    pub compressed_bytes: u64,
    /// Bytes decoded.
    pub decoded_bytes: u64,
    /// What happens beyond either.
    pub oversize: Oversize,
}

/// A body being read. Whole unless [`Body::truncated`]: any end before the declared one is an error.
pub struct Body {
    response: reqwest::Response,
    decoder: Option<Decoder>,
    caps: BodyCaps,
    trace: ContactTrace,
    opened: Instant,
    until: Instant,
    idle: Duration,
    min_rate_bytes_per_s: u64,
    min_rate_grace: Duration,
    compressed_bytes: u64,
    decoded_bytes: u64,
    truncated: bool,
    ended: bool,
}

impl Body {
    pub(super) fn new(
        response: reqwest::Response,
        decoder: Option<Decoder>,
        caps: BodyCaps,
        config: &HttpConfig,
        trace: ContactTrace,
        until: Instant,
    ) -> Self {
        Self {
            response,
            decoder,
            caps,
            trace,
            opened: Instant::now(),
            until,
            idle: Duration::from_millis(config.idle_timeout_ms),
            min_rate_bytes_per_s: config.min_rate_bytes_per_s,
            min_rate_grace: Duration::from_millis(config.min_rate_grace_ms),
            compressed_bytes: 0,
            decoded_bytes: 0,
            truncated: false,
            ended: false,
        }
    }

    /// The next decoded piece, never empty; none at the end.
    ///
    /// # Errors
    ///
    /// Why the body is not whole. Nothing of it counts then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        let piece = self.next_piece().await;
        if !matches!(piece, Ok(Some(_))) {
            self.ended = true;
            self.trace.end();
        }
        piece
    }

    /// Whether the body was cut at a cap.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Bytes received, before decoding.
    #[must_use]
    pub fn compressed_bytes(&self) -> u64 {
        self.compressed_bytes
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, FetchError> {
        while !self.ended {
            let Some(piece) = self.receive().await? else {
                self.ended = true;
                return self.finish();
            };
            let decoded = self.decode(piece)?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
        Ok(None)
    }

    /// A piece from the connection.
    async fn receive(&mut self) -> Result<Option<Bytes>, FetchError> {
        let idle_until = Instant::now() + self.idle;
        let received =
            tokio::time::timeout_at(idle_until.min(self.until), self.response.chunk()).await;
        let piece = match received {
            Ok(piece) => piece.map_err(|error| classify::of_body(&error))?,
            Err(_) if idle_until < self.until => return Err(FetchError::IdleTimeout),
            Err(_) => return Err(FetchError::FetchTimeout),
        };
        let Some(mut piece) = piece else {
            return Ok(None);
        };
        // A peer that always has something ready would never let the timer be looked at.
        if Instant::now() >= self.until {
            return Err(FetchError::FetchTimeout);
        }
        let room = usize::try_from(self.caps.compressed_bytes - self.compressed_bytes)
            .unwrap_or(usize::MAX);
        if piece.len() > room {
            self.cut()?;
            piece.truncate(room);
        }
        self.compressed_bytes += piece.len() as u64;
        self.check_rate()?;
        Ok(Some(piece))
    }

    fn check_rate(&self) -> Result<(), FetchError> {
        let elapsed = self.opened.elapsed();
        if elapsed < self.min_rate_grace {
            return Ok(());
        }
        let least = u128::from(self.min_rate_bytes_per_s) * elapsed.as_millis() / 1_000;
        if u128::from(self.compressed_bytes) < least {
            Err(FetchError::TooSlow)
        } else {
            Ok(())
        }
    }

    fn decode(&mut self, piece: Bytes) -> Result<Bytes, FetchError> {
        let room = self.room();
        let decoded = match &mut self.decoder {
            None if piece.len() > room => {
                self.cut()?;
                piece.slice(..room)
            }
            None => piece,
            Some(decoder) => {
                let mut out = Vec::new();
                if decoder.push(&piece, room, &mut out)? == Pushed::Full {
                    self.cut()?;
                }
                out.into()
            }
        };
        self.count(&decoded)?;
        Ok(decoded)
    }

    /// The connection says the body is over: so must the coding, unless the body was cut.
    fn finish(&mut self) -> Result<Option<Bytes>, FetchError> {
        let room = self.room();
        let Some(decoder) = self.decoder.as_mut().filter(|_| !self.truncated) else {
            return Ok(None);
        };
        let mut out = Vec::new();
        if decoder.finish(room, &mut out)? == Pushed::Full {
            self.cut()?;
        }
        self.count(&out)?;
        Ok((!out.is_empty()).then(|| out.into()))
    }

    fn room(&self) -> usize {
        usize::try_from(self.caps.decoded_bytes - self.decoded_bytes).unwrap_or(usize::MAX)
    }

    fn count(&mut self, decoded: &[u8]) -> Result<(), FetchError> {
        self.decoded_bytes += decoded.len() as u64;
        let is_bomb = self.decoded_bytes > RATIO_FREE_BYTES
            && self.decoded_bytes / self.compressed_bytes.max(1) > MAX_COMPRESSION_RATIO;
        if is_bomb {
            Err(FetchError::Ratio)
        } else {
            Ok(())
        }
    }

    fn cut(&mut self) -> Result<(), FetchError> {
        if self.caps.oversize == Oversize::Refuse {
            return Err(FetchError::BodyTooLarge);
        }
        self.truncated = true;
        self.ended = true;
        Ok(())
    }
}
