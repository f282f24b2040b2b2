//! `lease`: long polls that cost no log entry while there is nothing to grant.

use std::time::{Duration, Instant};

use client::CallError;
use machine::command::lease::{LeaseCall, LeaseReply};
use machine::{Body, CommandReply};
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use super::discover::wrong_reply;
use crate::convert::{lease_call, lease_response, ready_summary};
use crate::errors::overloaded;
use crate::limits::{EMPTY_GRANT_PAUSE_MS, PARKED_POLLS};
use crate::shard::{Admission, Attempt, Claim, Leading, Shard, Wake};

/// How a wait ended.
enum Waited {
    /// There may be something for this call.
    Ready(Claim),
    /// Nothing came in its time.
    Nothing,
}

impl LocalFrontier {
    pub(super) async fn lease_call(
        &self,
        request: pb::LeaseRequest,
    ) -> Result<pb::LeaseResponse, CallError> {
        let received = self.node.context.clocks.now();
        let call = lease_call(&request)?;
        let shard = &*self.node.shard(request.shard)?;
        let leading = shard.leading()?;
        let term = leading.token.term();
        let session = session_id(&call);
        let admission = shard.sessions.admit(session, call.number, term)?;
        let claim = if admission.may_park {
            match self
                .wait(shard, &leading, &call, &admission, request.wait_ms)
                .await?
            {
                Waited::Ready(claim) => Some(claim),
                Waited::Nothing => return self.nothing(shard, &leading, received).await,
            }
        } else {
            None
        };
        shard.sessions.propose(session, call.number, term);
        let number = call.number;
        let answer = shard.submit(Body::Lease(call)).await?;
        let CommandReply::Lease(reply) = answer.reply else {
            return Err(wrong_reply());
        };
        let granted = match &reply {
            LeaseReply::Granted { leases, .. } => {
                shard.sessions.answered(session, number, answer.term);
                leases.len()
            }
            LeaseReply::Stale { newest } => {
                shard.sessions.answered(session, *newest, answer.term);
                0
            }
            LeaseReply::Malformed => 0,
        };
        if claim.is_some() && granted == 0 {
            let pause = Duration::from_millis(EMPTY_GRANT_PAUSE_MS);
            shard.parking().hold(self.node.context.clocks.now(), pause);
        }
        drop(claim);
        let held = answer.stamped.saturating_duration_since(received);
        let map_version = self.node.map_version();
        let response = pb::LeaseResponse {
            map_version,
            ..lease_response(reply, answer.now_ms, ms(held))?
        };
        self.node
            .context
            .metrics
            .leased(response.leases.len(), response.repeated);
        Ok(response)
    }

    /// Waits until something is ready, no longer than asked.
    async fn wait(
        &self,
        shard: &Shard,
        leading: &Leading,
        call: &LeaseCall,
        admission: &Admission,
        wait_ms: u64,
    ) -> Result<Waited, CallError> {
        let epoch = shard.extent().map(|extent| extent.epoch);
        // Parked before looking, so that nothing that becomes ready in between is missed.
        let parked = shard.parking().park(call.max_leases);
        let mut parked = parked.map_err(|_| {
            overloaded("parked_polls", PARKED_POLLS as u64 + 1, PARKED_POLLS as u64)
        })?;
        if shard.leading()?.token != leading.token {
            return Err(shard.not_leader());
        }
        let now = self.node.context.clocks.now();
        if let Some(claim) = shard
            .parking()
            .claim(shard.ready_hosts(leading), call.max_leases, now)
        {
            return Ok(Waited::Ready(claim));
        }
        if shard.extent().map(|extent| extent.epoch) != epoch {
            return Ok(Waited::Nothing);
        }
        shard.nudge();
        tokio::select! {
            wake = parked.woken() => match wake {
                Wake::Ready(claim) => Ok(Waited::Ready(claim)),
                Wake::LeadershipEnded => Err(shard.not_leader()),
                // The answer shows a newer map; whoever asked goes on here and at the child.
                Wake::Split => Ok(Waited::Nothing),
            },
            newest = admission.attempt.ended() => Err(Attempt::superseded(call.number, newest)),
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => Ok(Waited::Nothing),
        }
    }

    /// The answer of a call that got nothing and cost no entry; its number was not used.
    async fn nothing(
        &self,
        shard: &Shard,
        leading: &Leading,
        received: Instant,
    ) -> Result<pb::LeaseResponse, CallError> {
        // A deposed leader answers nothing, not even nothing.
        shard.confirm().await?;
        let now = self.node.context.clocks.now();
        let published = shard.published();
        let stamp_ms = leading.clock.stamp_ms(now);
        self.node.context.metrics.empty_polls.inc();
        Ok(pb::LeaseResponse {
            leases: Vec::new(),
            ready: Some(ready_summary(&published.ready)),
            held_ms: ms(now.saturating_duration_since(received)),
            repeated: false,
            next_ready_in_ms: published
                .next_ready_ms
                .map_or(0, |ready_ms| ready_ms.saturating_sub(stamp_ms)),
            map_version: self.node.map_version(),
        })
    }
}

/// The call was checked: its session has 16 bytes.
fn session_id(call: &LeaseCall) -> [u8; 16] {
    call.session.as_slice().try_into().unwrap_or_default()
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
