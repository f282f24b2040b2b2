//! `recover`: what others were granted may be unknown here. Asked for after a restore from a backup, and after a shard that
//! lost its quorum goes on with a replica that may lack its last entries.
//!
//! Somewhere a fetcher may hold a lease of any host, granted by entries that are lost, and may contact the host until that lease is
//! over. No lease is longer than [`crate::limits::LEASE_TTL_MS`] allows, and what is lost was granted before the recovery; so
//! the last contact of **every** host becomes the recovery's stamp plus that time, also of hosts that the shard hears of
//! only later. Counters jump by [`crate::limits::RECOVERY_JUMP`], so that no number comes twice. Leases that are known end
//! as attempts that failed, a slice at a time: whoever holds one is told that it is lost, and its URL is leased again.
//!
//! What is *not* known again: back-offs, blocks and crawl-delays that hosts asked for in entries that are lost.
//!
//! The contacts are raised in memory and with one field of `meta`, by which a rebuild raises them too: a host's row says so once
//! the host changes. It costs what the hosts in memory cost, as a split does, and no row of them is read.

mod apply;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// Begins a recovery, or goes on with it.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Recover {
    /// Drawn at random and not 0. The same again ends the next slice of leases; another begins a recovery anew.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverReply {
    /// The clocks are set.
    Done(RecoverDone),
    /// The id is 0. Nothing changed.
    NoId,
}

/// How far a recovery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoverDone {
    /// Shard time that counts as the last contact of every host.
    pub until_ms: u64,
    /// Leases from before that are still to end: the same command again ends more of them.
    pub leases_left: u64,
}
