//! Fetcher sessions whose last answer may still be asked for.

use std::collections::{BTreeMap, BTreeSet};

/// 16 bytes chosen by the fetcher.
pub(crate) type SessionId = [u8; 16];

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Newest number answered and shard time of expiry.
    by_id: BTreeMap<SessionId, (u64, u64)>,
    by_expiry: BTreeSet<(u64, SessionId)>,
}

impl Sessions {
    /// Newest number answered.
    pub fn number(&self, id: &SessionId) -> Option<u64> {
        self.by_id.get(id).map(|(number, _)| *number)
    }

    pub fn put(&mut self, id: SessionId, number: u64, expires_ms: u64) {
        self.remove(&id);
        self.by_id.insert(id, (number, expires_ms));
        self.by_expiry.insert((expires_ms, id));
    }

    pub fn remove(&mut self, id: &SessionId) {
        if let Some((_, expires_ms)) = self.by_id.remove(id) {
            self.by_expiry.remove(&(expires_ms, *id));
        }
    }

    /// The session that expires first.
    pub fn first(&self) -> Option<(u64, SessionId)> {
        self.by_expiry.first().copied()
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }
}
