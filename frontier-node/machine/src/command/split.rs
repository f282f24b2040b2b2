//! `split`: the upper part of the shard's range becomes a shard of its own. No row is copied or moved.
//!
//! Rows are keyed by partition hash, so the rows of the child are where they belong before it exists. What the command
//! writes is what is keyed by the shard's number, and only that: `meta` and `crawl` of the child, `meta` of the parent. What
//! goes where:
//!
//! | what | parent | child |
//! |---|---|---|
//! | range | `first..=at - 1` | `at..=last` |
//! | shard time, wall stamp | the entry's | the same |
//! | token counter, outbox sequence | as it is | the same, so that both go on above every number given out |
//! | epoch | the command's + 1 | the same |
//! | a pause of the whole shard, the ids of dead page stores | as they are | the same |
//! | crawls (policies, removals under way) | as they are | copies |
//! | hosts with queues, schedules, robots, errands, budgets, change statistics | of its range | of its range |
//! | leases that are out | of its range | of its range; their tokens stay valid |
//! | recovery: how late any host may have been contacted | as it is | the same |
//! | sessions | as they are | none: a lease call names its shard, and calls of the child begin at 1 |
//! | queued, scheduled, leased, done of the books | what is left | summed from its hosts and leases |
//! | removed, refused, done on hosts forgotten since | all | none: no host in memory knows them |
//! | accepted | what is left | the sum of its terms |
//! | outbox rows | of its range | of its range, counted in and waiting |
//! | counters | as they are | from zero |
//!
//! The same token number may name a lease of the parent and one of the child; a lease's identity is key and token, and
//! keys differ.
//!
//! A URL that ended before the split and is removed afterwards at the child may stand in the books of the parent. The child
//! then counts it as accepted and removed ([`crate::Counter::SplitTakenOver`]), so that both equations hold; summed over
//! shards it is counted that many times too often.
//!
//! A removal of a crawl that is under way goes on at the parent with its cursor and starts anew at the child.

mod apply;
#[cfg(test)]
mod cost_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod install_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use crate::shard_id::ShardId;

/// Cuts the range in two. Epochs of a shard rise with each change of its shape; one that is behind the shard's is refused,
/// one that is ahead is taken over, for group 0 counts changes that a shard's log does not carry.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Split {
    /// The new shard's number, from the cluster's rising counter, never used before.
    #[prost(fixed64, tag = "1")]
    pub child: u64,
    /// First partition hash of the child.
    #[prost(fixed64, tag = "2")]
    pub at: u64,
    /// Epoch of the shard as the sender knows it.
    #[prost(uint64, tag = "3")]
    pub epoch: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitReply {
    /// The child is seeded, now or by an earlier attempt of the same split.
    Done(SplitDone),
    /// Nothing changed.
    Refused(SplitRefusal),
}

/// A split that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitDone {
    /// The new shard.
    pub child: ShardId,
    /// First partition hash of the child; the parent ended before it.
    pub at: u64,
    /// Last partition hash of the child.
    pub last: u64,
    /// Of parent and child after the split.
    pub epoch: u64,
}

/// Why a shard is not split. What only the cluster can know (that no other shard has the number, that the child's replicas
/// exist) is for group 0 to check before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitRefusal {
    /// The number is 0, which no shard has.
    UnknownChild,
    /// The number is this shard's, a child's, or lower than one of them: numbers only rise.
    UsedChild,
    /// The point is not in the range.
    OutsideRange {
        /// First partition hash of the shard.
        first: u64,
        /// Last partition hash of the shard.
        last: u64,
    },
    /// The point is the first hash of the range: nothing would be left for the parent.
    NothingLeft,
    /// The shard changed its shape since the sender looked; or the epoch is so high that no other can follow.
    StaleEpoch {
        /// Of the shard.
        epoch: u64,
    },
    /// At that epoch the shard was split in another way.
    OtherSplit {
        /// That split.
        done: SplitDone,
    },
}

impl SplitRefusal {
    /// Stable snake_case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownChild => "unknown_child",
            Self::UsedChild => "used_child",
            Self::OutsideRange { .. } => "outside_range",
            Self::NothingLeft => "nothing_left",
            Self::StaleEpoch { .. } => "stale_epoch",
            Self::OtherSplit { .. } => "other_split",
        }
    }
}
