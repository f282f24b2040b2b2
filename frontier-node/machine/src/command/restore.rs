//! `restore`: a new, empty shard is filled with the rows of a backup, whatever shards they were of there.
//!
//! ```text
//! begin -> rows .. rows -> build -> again .. again -> close
//! ```
//!
//! - `begin` takes an empty shard. Until `close` every other command is refused, and nothing becomes due.
//! - `rows` puts rows of the shard's range, in batches numbered from 1: one that came before is answered as before, so a restore that
//!   was interrupted is simply run again. Only rows are written; of memory there is none.
//! - `build` makes the machine out of the rows, as a restart would, and refuses rows that contradict each other.
//! - `again` queues pages whose links may be missing: the cuts of a backup's shards are made one after another, and a page that was
//!   reported after the backup began may have sent its links to a shard that was cut before. Its validators go, for an
//!   unchanged page would not be read.
//! - `close` begins a recovery ([`super::recover`]) and lets others in. What it began ends with `recover` under the same id.
//!
//! Rows come from several shards, each with a time of its own. The new shard's time begins at the highest of them, and stamps of a
//! source's rows are moved by the difference, so that a back-off has the rest to run that it had. Tokens of leases that were out
//! are drawn anew: their holders are told that they are lost. Sessions are not restored: a lease call names its shard.

mod again;
mod apply;
mod build;
mod row;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// One step of a restore.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Restore {
    /// Names the restore: the same for all its steps and all its shards; not 0.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// Which step.
    #[prost(oneof = "Step", tags = "2, 3, 4, 5, 6")]
    pub step: Option<Step>,
}

/// The steps.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Step {
    /// The shard is empty, and now the restore's.
    #[prost(message, tag = "2")]
    Begin(Begin),
    /// Rows of one source.
    #[prost(message, tag = "3")]
    Rows(Rows),
    /// All rows are there.
    #[prost(message, tag = "4")]
    Build(Build),
    /// Pages to be fetched again.
    #[prost(message, tag = "5")]
    Again(Again),
    /// The shard serves.
    #[prost(message, tag = "6")]
    Close(Close),
}

/// What the new shard's counters begin at: of each the highest of all shards of the backup; and what holds for all shards alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Begin {
    /// Shard time.
    #[prost(uint64, tag = "1")]
    pub now_ms: u64,
    /// Token counter.
    #[prost(uint64, tag = "2")]
    pub token: u64,
    /// Sequence of the outbox.
    #[prost(uint64, tag = "3")]
    pub outbox_sequence: u64,
    /// Nothing is leased.
    #[prost(bool, tag = "4")]
    pub paused: bool,
    /// Stores that are gone for good.
    #[prost(uint32, repeated, tag = "5")]
    pub dead_stores: Vec<u32>,
}

/// A batch of rows.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Rows {
    /// From 1. A gap is allowed: a batch without rows of this shard need not be sent.
    #[prost(uint64, tag = "1")]
    pub sequence: u64,
    /// Time of the shard that they were of, at its cut; not above that of [`Begin`].
    #[prost(uint64, tag = "2")]
    pub source_now_ms: u64,
    /// The rows, encoded as [`crate::backup::RowList`].
    #[prost(bytes = "vec", tag = "3")]
    pub rows: Vec<u8>,
}

/// See [`Step::Build`].
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Build {}

/// Pages that are done or wait for their next visit. What is anything else is left alone.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Again {
    /// The pages, at most [`crate::limits::DISCOVER_ITEMS`].
    #[prost(message, repeated, tag = "1")]
    pub pages: Vec<Page>,
}

/// A page by its URL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct Page {
    /// Of its site.
    #[prost(fixed64, tag = "1")]
    pub partition: u64,
    /// Of the URL in its crawl.
    #[prost(fixed64, tag = "2")]
    pub fingerprint: u64,
}

/// See [`Step::Close`].
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Close {}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreReply {
    /// The step is done, now or before.
    Done(RestoreDone),
    /// Why not; nothing changed.
    Refused(String),
}

/// How far the restore of the shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreDone {
    /// What comes next.
    pub stage: Stage,
    /// Newest batch of rows that was taken.
    pub sequence: u64,
    /// Pages that this step queued.
    pub queued: u64,
}

/// What a restore would find in a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreState {
    /// The restore that was begun, with where it stands.
    pub begun: Option<(u64, RestoreDone)>,
    /// Why none can be begun.
    pub refused: Option<&'static str>,
}

/// Where the restore of a shard stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Stage {
    /// It takes rows.
    Filling = 0,
    /// The machine is made.
    Built = 1,
    /// It serves.
    Closed = 2,
}
