//! Proof of leadership for reads: ReadIndex rounds, each shared by all reads that waited when it began.
//!
//! Not a lease: a lease is unsafe across the restart of a voter, which forgets what it promised.

use std::sync::Arc;
use std::time::Duration;

use openraft::ReadPolicy;
use openraft::errors::{LinearizableReadError, RaftError};
use tokio::sync::{mpsc, oneshot};

use super::Group;
use super::slot::{GroupSlot, Running};
use crate::engine::Shared;
use crate::errors::ReadError;
use crate::metrics::add;
use crate::status::Confirmed;

/// A read that waits for proof.
pub(crate) type ReadWaiter = oneshot::Sender<Result<Confirmed, ReadError>>;

/// Serves a group's reads until it is shut down.
pub(crate) async fn serve_reads(
    slot: Arc<GroupSlot>,
    shared: Arc<Shared>,
    mut waiting: mpsc::Receiver<ReadWaiter>,
) {
    let mut ended = slot.ended.subscribe();
    let patience = Duration::from_millis(2 * shared.options.timing.election_max_ms);
    loop {
        let first = tokio::select! {
            first = waiting.recv() => first,
            _ = ended.wait_for(|ended| *ended) => None,
        };
        let Some(first) = first else { return };
        let mut served = vec![first];
        while let Ok(next) = waiting.try_recv() {
            served.push(next);
        }
        add(&shared.counters.read_rounds, 1);
        let outcome = match slot.running() {
            Ok(running) => tokio::time::timeout(patience, round(&slot, &running))
                .await
                .unwrap_or(Err(ReadError::NoQuorum)),
            Err(reason) => Err(ReadError::Stopped(reason)),
        };
        add(
            &shared.counters.reads_confirmed,
            outcome.as_ref().map_or(0, |_| served.len() as u64),
        );
        for waiter in served {
            let _gone = waiter.send(outcome.clone());
        }
    }
}

/// One round: a quorum confirms that this replica leads, and everything committed before is applied.
async fn round(slot: &GroupSlot, running: &Running) -> Result<Confirmed, ReadError> {
    match running
        .raft
        .ensure_linearizable(ReadPolicy::ReadIndex)
        .await
    {
        // A read's index is never below the leader's own first entry, so its term is that of the leadership.
        Ok(read) => Ok(Confirmed {
            term: read.log_id().leader_id.term,
            applied_index: running.instance.applied.lock().index(),
        }),
        Err(RaftError::APIError(LinearizableReadError::ForwardToLeader(forward))) => {
            Err(ReadError::NotLeader {
                hint: forward.leader_id,
            })
        }
        Err(RaftError::APIError(LinearizableReadError::QuorumNotEnough(_))) => {
            Err(ReadError::NoQuorum)
        }
        Err(RaftError::Fatal(fatal)) => {
            let reason = slot
                .running()
                .err()
                .unwrap_or_else(|| crate::StopReason::Raft(fatal.to_string()));
            Err(ReadError::Stopped(reason))
        }
    }
}

impl Group {
    /// Proves that this replica led at some moment after the call, and that everything committed before the call is
    /// applied here. What is read from the state afterwards is as new as the call.
    pub async fn confirm_leadership(&self) -> Result<Confirmed, ReadError> {
        let running = self.slot.running().map_err(ReadError::Stopped)?;
        drop(running);
        let (sender, receiver) = oneshot::channel();
        self.slot
            .reads
            .try_send(sender)
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => ReadError::Overloaded,
                mpsc::error::TrySendError::Closed(_) => {
                    ReadError::Stopped(crate::StopReason::Shutdown)
                }
            })?;
        receiver
            .await
            .unwrap_or(Err(ReadError::Stopped(crate::StopReason::Shutdown)))
    }

    /// Waits until this replica has applied everything that it may have applied before it was restarted: until then
    /// its rows may be older than what it served earlier. The applied index.
    pub async fn wait_for_recovery(&self, patience: Duration) -> Result<u64, ReadError> {
        let running = self.slot.running().map_err(ReadError::Stopped)?;
        match running.raft.wait_for_recovery(Some(patience)).await {
            Ok(_) => Ok(running.instance.applied.lock().index()),
            Err(openraft::metrics::WaitError::Timeout(..)) => Err(ReadError::TimedOut),
            Err(error) => {
                let reason = self.slot.running().err();
                Err(ReadError::Stopped(reason.unwrap_or_else(|| {
                    crate::StopReason::Raft(error.to_string())
                })))
            }
        }
    }
}
