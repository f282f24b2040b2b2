//! Proposing: fenced, bounded, in order, many under way at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use openraft::alias::OneshotReceiverOf;
use openraft::errors::ClientWriteError;
use openraft::impls::OneshotResponder;
use openraft::raft::ClientWriteResult;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Group;
use super::slot::GroupSlot;
use crate::errors::ProposeError;
use crate::ids::LeadershipToken;
use crate::limits::MAX_PAYLOAD_BYTES;
use crate::raft_types::{Payload, TypeConfig, committed_leader};

/// The machine's reply to one proposal, after the entry was committed and applied here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The entry's place in the log.
    pub index: u64,
    /// The term it was proposed in.
    pub term: u64,
    /// What the machine replied.
    pub bytes: Bytes,
}

/// A proposal under way. Dropping it gives up the reply, not the proposal.
#[must_use = "the outcome of the proposal is known only here"]
pub struct PendingReply {
    receiver: OneshotReceiverOf<TypeConfig, ClientWriteResult<TypeConfig>>,
    slot: Arc<GroupSlot>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Future for PendingReply {
    type Output = Result<Reply, ProposeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.receiver).poll(context));
        Poll::Ready(match outcome {
            Ok(Ok(response)) => Ok(Reply {
                index: response.log_id.index,
                term: response.log_id.leader_id.term,
                bytes: response.data.0,
            }),
            Ok(Err(ClientWriteError::ForwardToLeader(forward))) => Err(ProposeError::NotLeader {
                hint: forward.leader_id,
            }),
            Ok(Err(error)) => Err(ProposeError::OutcomeUnknown(error.to_string())),
            Err(_dropped) => {
                let reason = self.slot.running().err();
                let reason = reason.map_or_else(
                    || "the instance ended".to_owned(),
                    |reason| reason.to_string(),
                );
                Err(ProposeError::OutcomeUnknown(reason))
            }
        })
    }
}

impl Group {
    /// Submits a proposal and waits for its reply.
    pub async fn propose(
        &self,
        fence: LeadershipToken,
        payload: Bytes,
    ) -> Result<Reply, ProposeError> {
        self.submit(fence, payload).await?.await
    }

    /// Submits a proposal: on return its place in the order of this group's proposals is fixed, and the reply may be
    /// awaited elsewhere. It becomes an entry only under the leadership of `fence`.
    pub async fn submit(
        &self,
        fence: LeadershipToken,
        payload: Bytes,
    ) -> Result<PendingReply, ProposeError> {
        let size_bytes = payload.len();
        if size_bytes > MAX_PAYLOAD_BYTES {
            return Err(ProposeError::TooLarge { size_bytes });
        }
        let running = self.slot.running().map_err(stopped)?;
        if self.shared.health.is_low_on_space() {
            let options = &self.shared.options;
            let (dir, needed) = (options.dir.display(), options.min_free_bytes);
            return Err(ProposeError::DiskFull(format!(
                "less than {needed} bytes free at {dir}"
            )));
        }
        let kib = u32::try_from(size_bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let permits = [
            take(&self.slot.proposals, 1)?,
            take(&self.slot.proposal_kib, kib)?,
        ];
        let (responder, receiver) = OneshotResponder::new_pair();
        let write = running
            .raft
            .write(Payload(payload))
            .with_leader(committed_leader(fence.term))
            .responder(responder);
        write.await.map_err(|fatal| {
            stopped(
                self.slot
                    .running()
                    .err()
                    .unwrap_or_else(|| crate::StopReason::Raft(fatal.to_string())),
            )
        })?;
        Ok(PendingReply {
            receiver,
            slot: Arc::clone(&self.slot),
            _permits: permits,
        })
    }
}

fn take(permits: &Arc<Semaphore>, count: u32) -> Result<OwnedSemaphorePermit, ProposeError> {
    Arc::clone(permits)
        .try_acquire_many_owned(count)
        .map_err(|_| ProposeError::Overloaded)
}

fn stopped(reason: crate::StopReason) -> ProposeError {
    match reason {
        crate::StopReason::DiskFull(text) => ProposeError::DiskFull(text),
        other => ProposeError::Stopped(other),
    }
}
