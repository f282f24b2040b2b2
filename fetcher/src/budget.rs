//! Memory for bodies: all open fetches share one budget, so that a thousand large pages at once are put back, not swapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};

use crate::http::FetchError;

/// How often a body may be in memory at once: while its buffer grows, in the extractor, decoded to text, compressed.
const MEMORY_COPIES: u64 = 4;

/// The budget.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<AtomicU64>);

impl BodyBudget {
    /// So many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// An empty body.
    #[must_use]
    pub fn body(&self) -> Payload {
        Payload {
            budget: self.clone(),
            bytes: BytesMut::new(),
            taken: 0,
        }
    }

    fn take(&self, bytes: u64) -> Result<(), FetchError> {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        taken.map(|_| ()).map_err(|_| FetchError::Memory)
    }
}

/// A body being gathered. Gives its bytes back when dropped.
#[derive(Debug)]
pub struct Payload {
    budget: BodyBudget,
    bytes: BytesMut,
    taken: u64,
}

impl Payload {
    /// Appends.
    ///
    /// # Errors
    ///
    /// [`FetchError::Memory`] when the budget is used up.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), FetchError> {
        let charged = piece.len() as u64 * MEMORY_COPIES;
        self.budget.take(charged)?;
        self.taken += charged;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// The bytes, which stay counted while this value lives.
    pub fn bytes(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes).freeze()
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_and_give_back() {
        let budget = BodyBudget::new(40);
        let (mut one, mut two) = (budget.body(), budget.body());
        assert_eq!(one.push(b"123456"), Ok(()));
        assert_eq!(two.push(b"12345"), Err(FetchError::Memory));
        assert_eq!(one.bytes(), Bytes::from_static(b"123456"));
        assert_eq!(two.push(b"12345"), Err(FetchError::Memory));
        drop(one);
        assert_eq!(two.push(b"12345"), Ok(()));
    }
}
