//! Splitting a shard, on its leader.

use std::collections::BTreeSet;
use std::sync::Arc;

use client::CallError;
use machine::command::deliver::Deliver;
use machine::command::split as m;
use machine::{Body, CommandReply};
use raftlog::{GroupStatus, NodeId};

use crate::node::FrontierNode;
use crate::shard::Shard;

/// A split that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitRequest {
    /// The parent.
    pub shard: u64,
    /// Its epoch as the sender knows it; one that is ahead of the shard's is taken over.
    pub epoch: u64,
    /// First partition hash of the child.
    pub at: u64,
    /// The child's number, never used before.
    pub child: u64,
    /// The child's voters: exactly those of the parent.
    pub voters: BTreeSet<NodeId>,
}

/// A split that is committed, and applied on the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitDone {
    /// The child.
    pub child: u64,
    /// First partition hash of the child; the parent ended before it.
    pub at: u64,
    /// Last partition hash of the child.
    pub last: u64,
    /// Of parent and child after the split.
    pub epoch: u64,
}

/// Why a shard was not split. Nothing changed where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// This node has no replica of the shard.
    #[error("shard {0} is not here")]
    UnknownShard(u64),
    /// This replica does not lead it.
    #[error("not the leader of shard {shard}")]
    NotLeader {
        /// The shard.
        shard: u64,
        /// Who leads it, where that is known.
        leader: Option<NodeId>,
    },
    /// The shard refuses: for good, or until the sender knows it better.
    #[error("refused: {}", .0.name())]
    Refused(m::SplitRefusal),
    /// The parent's members are not the voters that the child is to have, or are being changed: repeat it with a newer plan.
    #[error("the members are {voters:?}, learners {learners:?}, being changed: {is_joint}")]
    Members {
        /// Those who vote.
        voters: BTreeSet<NodeId>,
        /// Those who are fed without a vote.
        learners: BTreeSet<NodeId>,
        /// The voters are being changed.
        is_joint: bool,
    },
    /// The shard cannot answer now. The split may be done or not: repeat it as it is.
    #[error("{0}")]
    Unavailable(String),
}

impl SplitError {
    /// Whether the shard never takes this split as it was asked for; else it may be repeated, here or at another node.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl FrontierNode {
    /// Splits a shard that this node leads. Returns when that is committed and applied here; the child's replicas are made by
    /// themselves ([`FrontierNode::shard_standing`] tells when the child is led). Repeating it is answered as before.
    ///
    /// # Errors
    ///
    /// See [`SplitError`].
    pub async fn split_shard(&self, request: SplitRequest) -> Result<SplitDone, SplitError> {
        let shard = self.shared_node().shards.get(request.shard);
        let shard = shard.ok_or(SplitError::UnknownShard(request.shard))?;
        let failed = |error| call_error(&shard, &error);
        shard.leading().map_err(failed)?;
        let (child, at) = (request.child, request.at);
        let done = shard.look(move |machine, _, _| {
            let mut splits = machine.splits().into_iter();
            splits.find(|split| split.child.0 == child && split.at == at)
        });
        // What is applied is committed.
        if let Some(done) = done.await.map_err(failed)? {
            return Ok(done.into());
        }
        check_members(&shard.group().status(), &request.voters)?;
        let command = m::Split {
            child,
            at,
            epoch: request.epoch,
        };
        let answer = shard.submit(Body::Split(command)).await.map_err(failed)?;
        match answer.reply {
            CommandReply::Split(m::SplitReply::Done(done)) => {
                tracing::info!(shard = request.shard, child, at, "split");
                tokio::spawn(carry_on(shard));
                Ok(done.into())
            }
            CommandReply::Split(m::SplitReply::Refused(refusal)) => {
                Err(SplitError::Refused(refusal))
            }
            _ => Err(SplitError::Unavailable(
                "an answer to another command".into(),
            )),
        }
    }
}

impl From<m::SplitDone> for SplitDone {
    fn from(done: m::SplitDone) -> Self {
        Self {
            child: done.child.0,
            at: done.at,
            last: done.last,
            epoch: done.epoch,
        }
    }
}

/// An entry that changes nothing and carries the commit of the split to the other replicas: they make the child when they hear of
/// it, and would else hear of it with the next heartbeat.
async fn carry_on(shard: Arc<Shard>) {
    let nothing = Body::Deliver(Deliver { keys: Vec::new() });
    if let Err(error) = shard.submit(nothing).await {
        tracing::debug!(shard = shard.id(), %error, "the split is told with the next entry");
    }
}

/// The child inherits the parent's members at the split's entry, whoever they are then. Asked for beforehand they are what the
/// sender planned with, unless they are changed at this very moment.
fn check_members(status: &GroupStatus, voters: &BTreeSet<NodeId>) -> Result<(), SplitError> {
    if status.voters == *voters && status.learners.is_empty() && !status.is_joint {
        return Ok(());
    }
    Err(SplitError::Members {
        voters: status.voters.clone(),
        learners: status.learners.clone(),
        is_joint: status.is_joint,
    })
}

pub(super) fn call_error(shard: &Shard, error: &CallError) -> SplitError {
    match error {
        CallError::NotLeader { .. } => SplitError::NotLeader {
            shard: shard.id(),
            leader: shard.leadership().leader,
        },
        other => SplitError::Unavailable(other.to_string()),
    }
}
