//! One step of a restore, or a recovery, on the shard's leader.

use client::CallError;
use machine::command::recover::{Recover, RecoverReply};
use machine::command::restore::{Restore, RestoreReply, RestoreState};
use machine::{Body, CommandReply};

use super::export::proven;
use crate::errors::unavailable;
use crate::node::FrontierNode;

/// How far the restore of a shard is.
pub(crate) enum Restored {
    /// After a step.
    Step(RestoreReply),
    /// Without one.
    Look(RestoreState),
}

/// How far a recovery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Until hosts may be contacted under leases that are lost.
    pub(crate) wait_ms: u64,
    pub(crate) leases_left: u64,
}

impl FrontierNode {
    /// A step of a restore; a look when it has none.
    ///
    /// # Errors
    ///
    /// This node does not lead the shard, or the outcome is unknown.
    pub(crate) async fn restore_shard(
        &self,
        shard: u64,
        restore: Restore,
    ) -> Result<Restored, CallError> {
        let shard = self.shared_node().shard(shard)?;
        if restore.step.is_none() {
            let term = proven(&shard)?;
            let state = shard.look(|machine, _, _| machine.restore_state()).await?;
            if shard.confirm().await? != term {
                return Err(unavailable("leadership changed meanwhile"));
            }
            return Ok(Restored::Look(state));
        }
        match shard.submit(Body::Restore(restore)).await?.reply {
            CommandReply::Restore(reply) => Ok(Restored::Step(reply)),
            _ => Err(unavailable("an answer to another command")),
        }
    }

    /// Begins a recovery of a shard, or goes on with it.
    ///
    /// # Errors
    ///
    /// This node does not lead the shard, or the outcome is unknown; `None`: the id is 0.
    pub(crate) async fn recover_shard(
        &self,
        shard: u64,
        id: u64,
    ) -> Result<Option<Recovered>, CallError> {
        let shard = self.shared_node().shard(shard)?;
        let answer = shard.submit(Body::Recover(Recover { id })).await?;
        match answer.reply {
            CommandReply::Recover(RecoverReply::Done(done)) => Ok(Some(Recovered {
                wait_ms: done.until_ms.saturating_sub(answer.now_ms),
                leases_left: done.leases_left,
            })),
            CommandReply::Recover(RecoverReply::NoId) => Ok(None),
            _ => Err(unavailable("an answer to another command")),
        }
    }
}
