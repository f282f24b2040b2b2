//! Hands replies to waiting calls, in log order.

use std::sync::Arc;
use std::time::Instant;

use client::CallError;
use machine::{CommandReply, Reply};
use raftlog::{PendingReply, ProposeError};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::Answer;
use super::gather::Waiter;
use crate::errors::{Hints, unavailable};
use crate::state::ReplyBoard;

/// An entry that was submitted.
pub(super) struct Submitted {
    pub(super) pending: PendingReply,
    pub(super) stamped: Instant,
    pub(super) waiters: Vec<Waiter>,
    /// Its place among the entries under way.
    pub(super) _place: OwnedSemaphorePermit,
}

/// Runs until the task that submits is gone.
pub(super) async fn run(
    mut submitted: mpsc::Receiver<Submitted>,
    board: Arc<ReplyBoard>,
    hints: Arc<Hints>,
) {
    while let Some(entry) = submitted.recv().await {
        match entry.pending.await {
            Ok(proposed) => match board.end(Some(proposed.index)) {
                Some(reply) => hand_out(reply, proposed.term, entry.stamped, entry.waiters),
                None => refuse(
                    entry.waiters,
                    &CallError::Unavailable {
                        reason: "the reply was lost; the outcome is unknown".into(),
                        retry_after_ms: 0,
                    },
                ),
            },
            Err(error) => {
                board.end(None);
                fail(entry.waiters, &error, &hints);
            }
        }
    }
}

/// One reply for each command, in order.
fn hand_out(reply: Reply, term: u64, stamped: Instant, waiters: Vec<Waiter>) {
    for (waiter, command_reply) in waiters.into_iter().zip(reply.replies) {
        if command_reply == CommandReply::BeingRestored {
            let _ = waiter.answer.send(Err(unavailable(
                "the shard is being restored from a backup",
            )));
            continue;
        }
        // A caller that went away needs no answer.
        let _ = waiter.answer.send(Ok(Answer {
            reply: command_reply,
            now_ms: reply.now_ms,
            term,
            stamped,
        }));
    }
}

/// The entry failed for all its commands alike.
pub(super) fn fail(waiters: Vec<Waiter>, error: &ProposeError, hints: &Hints) {
    refuse(waiters, &hints.propose_error(error));
}

pub(super) fn refuse(waiters: Vec<Waiter>, error: &CallError) {
    for waiter in waiters {
        let _ = waiter.answer.send(Err(error.clone()));
    }
}
