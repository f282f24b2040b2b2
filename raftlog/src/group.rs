//! One Raft group on this node.
//!
//! A [`Group`] outlives its Raft instance: after a disk failure the instance is dropped and opened again, with a
//! machine made anew from the rows.

mod applied;
mod control;
mod founding;
mod instance;
mod longer_log;
mod membership;
mod opening;
mod owned;
mod propose;
mod purge;
mod reads;
mod slot;
pub(crate) mod state_impl;
mod supervisor;
mod transfers;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;

pub(crate) use applied::{AppliedState, founding_log_id, load_applied};
pub(crate) use instance::Instance;
pub(crate) use longer_log::LongerLog;
pub(crate) use opening::open_instance;
pub(crate) use owned::{load_owned, owned_row};
pub(crate) use slot::{GroupSlot, Running};
pub(crate) use supervisor::supervise;
pub(crate) use transfers::Transfers;

pub use propose::{PendingReply, Reply};

pub(crate) use reads::serve_reads;

use crate::engine::Shared;
use crate::ids::{GroupId, NodeId};
use crate::rows::RowBatch;

/// What a node must know to take part in a new group. The same on each member.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The group. Never reused.
    pub group_id: GroupId,
    /// The first voting members. This node is one of them.
    pub members: BTreeSet<NodeId>,
    /// Rows that the group starts with. Written once, when the group is created here.
    pub initial_rows: RowBatch,
}

/// Handle of one group on this node. Cheap to clone.
#[derive(Clone)]
pub struct Group {
    pub(crate) slot: Arc<GroupSlot>,
    pub(crate) shared: Arc<Shared>,
}

/// Keeps a group's log from being purged above what the state database has flushed.
pub(crate) trait FlushGuard: Send + Sync {
    /// Waits until the rows of all entries up to `index` are flushed; an error if they cannot be.
    fn ensure_flushed(&self, index: u64) -> BoxFuture<'_, io::Result<()>>;
}
