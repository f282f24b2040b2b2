//! What the log carries: one entry with its stamps, the commands that share it, and the reply.

use crate::command::{
    alias, deliver, discover, lease, lost_store, recover, release, remove, report, restore,
    set_policy, split,
};

/// One log entry. All commands of an entry are applied in order at one stamp.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Entry {
    /// Shard time at stamping, ms. Apply takes the larger of this and the shard's time.
    #[prost(uint64, tag = "1")]
    pub now_ms: u64,
    /// The replicas' agreed wall clock, Unix ms. Decides revisit dates, robots expiry and budget cycles only.
    #[prost(uint64, tag = "2")]
    pub wall_unix_ms: u64,
    /// Empty for a tick.
    #[prost(message, repeated, tag = "3")]
    pub commands: Vec<Command>,
}

/// One command: a batch with a result for each item.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Command {
    /// Which command.
    #[prost(oneof = "Body", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 19, 20")]
    pub body: Option<Body>,
}

/// The commands.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Body {
    /// Links, errands and errand results.
    #[prost(message, tag = "1")]
    Discover(discover::Discover),
    /// Leases for one numbered call.
    #[prost(message, tag = "2")]
    Lease(lease::LeaseCall),
    /// Ends of leases with outcomes.
    #[prost(message, tag = "3")]
    Report(report::ReportBatch),
    /// Ends of leases that were not started.
    #[prost(message, tag = "4")]
    Release(release::ReleaseBatch),
    /// A crawl's or a host's policy.
    #[prost(message, tag = "5")]
    SetPolicy(set_policy::SetPolicy),
    /// One slice of a removal.
    #[prost(message, tag = "6")]
    Remove(remove::Remove),
    /// Outbox rows that reached their owner.
    #[prost(message, tag = "7")]
    Deliver(deliver::Deliver),
    /// The upper part of the range becomes a shard of its own.
    #[prost(message, tag = "8")]
    Split(split::Split),
    /// What was granted to others may be unknown here: hosts wait, counters jump.
    #[prost(message, tag = "9")]
    Recover(recover::Recover),
    /// One step of filling an empty shard from a backup.
    #[prost(message, tag = "10")]
    Restore(restore::Restore),
    /// A page store is gone for good.
    #[prost(message, tag = "19")]
    LostStore(lost_store::LostStore),
    /// One host is folded into another.
    #[prost(message, tag = "20")]
    Alias(alias::Alias),
}

/// What applying an entry answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Shard time of the entry, after the maximum was taken.
    pub now_ms: u64,
    /// One for each command, in order.
    pub replies: Vec<CommandReply>,
}

/// The reply to one command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandReply {
    /// To [`Body::Discover`].
    Discover(Vec<discover::DiscoverResult>),
    /// To [`Body::Lease`].
    Lease(lease::LeaseReply),
    /// To [`Body::Report`].
    Report(Vec<report::ReportResult>),
    /// To [`Body::Release`].
    Release(Vec<report::ReportResult>),
    /// To [`Body::SetPolicy`].
    SetPolicy(set_policy::SetPolicyReply),
    /// To [`Body::Remove`].
    Remove(remove::RemoveReply),
    /// To [`Body::Deliver`]: how many rows were still there.
    Deliver(u64),
    /// To [`Body::Split`].
    Split(split::SplitReply),
    /// To [`Body::Recover`].
    Recover(recover::RecoverReply),
    /// To [`Body::Restore`].
    Restore(restore::RestoreReply),
    /// To any other command while a restore fills the shard: nothing was done.
    BeingRestored,
    /// To [`Body::LostStore`].
    LostStore(lost_store::LostStoreReply),
    /// To [`Body::Alias`].
    Alias(alias::AliasReply),
    /// The command had no body this version knows.
    Unknown,
}
