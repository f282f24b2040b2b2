//! Digests that are being written: the first put of one claims it, later puts wait until the claim ends.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::digest::Digest;

/// All claims of a store. Bounded by the puts in progress.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    // Dropping a sender wakes all that wait on it.
    held: Mutex<HashMap<Digest, watch::Sender<()>>>,
}

/// The right to write a digest's first record; ends when dropped, whether or not the record was written.
#[derive(Debug)]
pub(crate) struct Claim {
    digest: Digest,
    claims: Arc<Claims>,
}

/// The end of another's claim.
#[derive(Debug)]
pub(crate) struct ClaimEnd(watch::Receiver<()>);

impl Claims {
    /// Claims the digest, or says what to wait for.
    pub(crate) fn claim(self: &Arc<Claims>, digest: Digest) -> Result<Claim, ClaimEnd> {
        let mut held = self.held.lock();
        if let Some(sender) = held.get(&digest) {
            return Err(ClaimEnd(sender.subscribe()));
        }
        held.insert(digest, watch::Sender::new(()));
        Ok(Claim {
            digest,
            claims: Arc::clone(self),
        })
    }

    /// What to wait for, if someone holds the digest.
    pub(crate) fn held(&self, digest: &Digest) -> Option<ClaimEnd> {
        self.held
            .lock()
            .get(digest)
            .map(|sender| ClaimEnd(sender.subscribe()))
    }
}

impl ClaimEnd {
    /// Waits until the claim has ended; then ask the index again.
    pub(crate) async fn wait(mut self) {
        // Nothing is ever sent: this returns when the sender is gone.
        while self.0.changed().await.is_ok() {}
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.held.lock().remove(&self.digest);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_claim_is_exclusive_and_wakes_all_that_wait() {
        let claims = Arc::new(Claims::default());
        let digest = Digest::of(b"x");
        let claim = claims.claim(digest).unwrap();
        let ends = [
            claims.claim(digest).unwrap_err(),
            claims.held(&digest).unwrap(),
        ];
        assert!(claims.claim(Digest::of(b"y")).is_ok());
        let waiting = tokio::spawn(async move {
            for end in ends {
                end.wait().await;
            }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(claim);
        waiting.await.unwrap();
        assert!(claims.held(&digest).is_none());
        assert!(claims.claim(digest).is_ok());
    }
}
