//! The log database: the logs of all groups in one RocksDB with WAL, written by one thread.
//!
//! | key | what |
//! |---|---|
//! | `01` | the node's identity and the layout's version |
//! | `02`, group (8, big-endian), `01` | vote |
//! | `02`, group (8, big-endian), `02` | committed log id, not synced on its own |
//! | `02`, group (8, big-endian), `03` | purged log id |
//! | `02`, group (8, big-endian), `04` | descriptor of the group: the replica here and how it came, or its tombstone |
//! | `10`, group (8, big-endian), index (8, big-endian) | entry |
//!
//! Writing: a group puts its entries into its tail cache, where they can be read at once, and queues them. The syncer
//! takes everything that waits, of all groups, writes one batch, syncs once, and then tells each group.

mod group_log;
mod keys;
mod load;
mod open;
mod raft_impl;
mod read;
mod size_marks;
mod sole_voter;
mod syncer;
mod tail;
mod wal_check;

pub(crate) use group_log::GroupLog;
pub(crate) use keys::{LogField, field_key, fields_start, identity_key};
pub(crate) use open::open_log;
pub(crate) use raft_impl::LogStore;
pub(crate) use sole_voter::append_sole_voter;
pub(crate) use syncer::{LogOp, Syncer, reset_group};
