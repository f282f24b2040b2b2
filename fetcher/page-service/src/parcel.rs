//! A capture on its way to stores: hashed once, and deflated once, when the first of them asks for its bytes.

use bytes::Bytes;
use page_store::limits::COMPRESSION_DEFAULT_LEVEL;
use page_store::{Capture, Deflated, Digest};
use tokio::sync::OnceCell;

use crate::limits::{INLINE_DEFLATE_SIZE_BYTES, INLINE_HASH_SIZE_BYTES};

/// A capture, the digest of its payload, and the payload deflated once that is needed.
#[derive(Debug)]
pub struct Parcel {
    capture: Capture,
    digest: Digest,
    deflated: OnceCell<Option<Deflated>>,
}

impl Parcel {
    /// Hashes the payload.
    pub async fn new(capture: Capture) -> Self {
        let hash = |payload: Bytes| Digest::of(&payload);
        let digest = off_thread(&capture.payload, INLINE_HASH_SIZE_BYTES, hash).await;
        Self {
            capture,
            digest,
            deflated: OnceCell::new(),
        }
    }

    /// What is put.
    #[must_use]
    pub const fn capture(&self) -> &Capture {
        &self.capture
    }

    /// The name of its payload.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The payload deflated; none where it would hardly shrink. Whoever asks while it is made waits for it.
    pub(crate) async fn deflated(&self) -> Option<&Deflated> {
        let deflate = || {
            off_thread(
                &self.capture.payload,
                INLINE_DEFLATE_SIZE_BYTES,
                |payload| Deflated::of(&payload, COMPRESSION_DEFAULT_LEVEL),
            )
        };
        self.deflated.get_or_init(deflate).await.as_ref()
    }
}

/// Does off the async threads what takes a while.
async fn off_thread<T: Send + 'static>(
    payload: &Bytes,
    inline_size_bytes: usize,
    work: fn(Bytes) -> T,
) -> T {
    let bytes = payload.clone();
    if payload.len() > inline_size_bytes
        && let Ok(done) = tokio::task::spawn_blocking(move || work(bytes)).await
    {
        return done;
    }
    work(payload.clone())
}
