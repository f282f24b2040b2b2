//! Lease calls to one shard: numbered, repeated until answered, never for more than the slots that are free.
//!
//! A call waits at the shard while there is nothing to do. It holds slots meanwhile, so it is cut short when another shard
//! needs one: the same number is asked again without a wait, and brings what may have been granted in between, or nothing,
//! and then the slots are free. While slots are scarce shards without work are only looked at now and then.

use std::sync::Arc;
use std::time::Duration;

use client::CallError;
use proto::frontier_v1 as pb;
use tokio_util::sync::CancellationToken;

use crate::deadline::{BootInstant, Deadline};
use crate::held::{Held, LeaseGuard};
use crate::limits::{IDLE_LOOK_MS, LEASE_OVERDUE_MS, RETRY_PAUSE_MS, SHARE_LOOK_MS};
use crate::outcome::End;
use crate::pool::Pool;
use crate::slots::Slot;

/// Asks one shard for work until the stop, or until the shard is gone.
pub(crate) async fn lease_from(pool: Arc<Pool>, shard: u64, stop: CancellationToken) {
    let caller = Caller { pool, shard, stop };
    while let Some(slots) = caller.slots().await {
        let request = pb::LeaseRequest {
            shard,
            session: caller.pool.session.to_vec().into(),
            number: caller.pool.next_number(shard),
            max_leases: u32::try_from(slots.len()).unwrap_or(1),
            ttl_ms: caller.pool.ctx.config.lease_ttl_ms,
            wait_ms: if caller.pool.slots.is_contended() {
                0
            } else {
                caller.pool.ctx.config.poll_wait_ms
            },
        };
        match caller.answered(request, slots).await {
            Called::Granted(grant) => caller.start(grant).await,
            Called::Skipped => {}
            Called::Over => break,
        }
    }
    caller.pool.balance.forget(shard);
}

/// The caller of one shard.
struct Caller {
    pool: Arc<Pool>,
    shard: u64,
    stop: CancellationToken,
}

/// A reply, and when the attempt that got it was sent, or an earlier one: never later.
struct Grant {
    response: pb::LeaseResponse,
    sent: BootInstant,
    slots: Vec<Slot>,
    /// The call did not wait for work.
    was_look: bool,
}

enum Called {
    Granted(Grant),
    /// This number is used up; go on with another.
    Skipped,
    /// The shard is gone, or we stop.
    Over,
}

/// How one try ended.
enum Tried {
    Answered(Result<pb::LeaseResponse, CallError>),
    /// Its slots are wanted, or we stop: ask again, without a wait.
    Cut,
}

impl Caller {
    /// Slots for the next call: waits until this shard should have some. None: stop.
    async fn slots(&self) -> Option<Vec<Slot>> {
        let slots = async {
            self.turn().await;
            let first = self.slot().await?;
            let slots = &self.pool.slots;
            let ask = self.pool.balance.ask(self.shard, slots.free() + 1).max(1);
            let mut taken = slots.take_more(ask as usize - 1);
            taken.push(first);
            Some(taken)
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            slots = slots => slots,
        }
    }

    /// Returns when the free slots are not all better spent elsewhere; after a while in any case, so that what becomes ready
    /// here is heard of.
    async fn turn(&self) {
        let since = tokio::time::Instant::now();
        let longest = Duration::from_millis(IDLE_LOOK_MS.1);
        let balance = &self.pool.balance;
        while balance.ask(self.shard, self.pool.slots.free().max(1)) == 0
            && since.elapsed() < longest
        {
            tokio::time::sleep(Duration::from_millis(SHARE_LOOK_MS)).await;
        }
    }

    async fn slot(&self) -> Option<Slot> {
        let ctx = &self.pool.ctx;
        loop {
            ctx.pause.wait(&*ctx.pages).await;
            let slot = self.pool.slots.take().await?;
            // The fetch that freed this slot may be the one that found the store full.
            if !ctx.pause.is_on() {
                return Some(slot);
            }
        }
    }

    /// Calls until there is an answer to this number. A call under way at the stop is not just dropped: leases in an answer
    /// that nobody reads would expire.
    async fn answered(&self, mut request: pb::LeaseRequest, mut slots: Vec<Slot>) -> Called {
        let mut pause_ms = RETRY_PAUSE_MS.0;
        loop {
            let sent = BootInstant::now();
            let error = match self.attempt(&request).await {
                Tried::Cut => {
                    self.pool.ctx.metrics.polls_cut.increment();
                    request.wait_ms = 0;
                    continue;
                }
                Tried::Answered(Ok(response)) => {
                    self.pool.answered(self.shard, request.number);
                    return Called::Granted(Grant {
                        response,
                        sent,
                        slots,
                        was_look: request.wait_ms == 0,
                    });
                }
                Tried::Answered(Err(error)) => error,
            };
            // What it said last is no guide to what it has: others need not leave slots for it, nor does it keep its own.
            self.pool.balance.forget(self.shard);
            slots.clear();
            if let Some(called) = self.failed(&request, &error).await {
                return called;
            }
            // At the stop one more try, without waiting for new work, brings what may have been granted already.
            let pause = Duration::from_millis(pause_ms.max(asked_pause_ms(&error)));
            tokio::select! {
                () = self.stop.cancelled() => request.wait_ms = 0,
                () = tokio::time::sleep(pause) => {}
            }
            pause_ms = (pause_ms * 2).min(RETRY_PAUSE_MS.1);
            slots = self.slots_again(&request).await;
        }
    }

    /// One try. A shard that does not answer keeps slots only while nobody needs them.
    async fn attempt(&self, request: &pb::LeaseRequest) -> Tried {
        let pool = &self.pool;
        let call = pool.ctx.frontier.lease(request.clone());
        let is_parked = request.wait_ms > 0;
        let wanted = async {
            if !is_parked {
                tokio::time::sleep(Duration::from_millis(LEASE_OVERDUE_MS)).await;
            }
            pool.slots.wanted().await;
        };
        tokio::select! {
            biased;
            result = call => Tried::Answered(result),
            () = wanted => if is_parked {
                Tried::Cut
            } else {
                Tried::Answered(Err(CallError::Unavailable {
                    reason: "no answer yet, and its slots are wanted".to_owned(),
                    retry_after_ms: 0,
                }))
            },
            () = self.stop.cancelled(), if is_parked => Tried::Cut,
        }
    }

    /// What a failure means for the number; none: it is tried again.
    async fn failed(&self, request: &pb::LeaseRequest, error: &CallError) -> Option<Called> {
        let (pool, shard) = (&self.pool, self.shard);
        match error {
            CallError::StaleCall { newest_number } => {
                pool.answered(shard, *newest_number);
                return Some(Called::Skipped);
            }
            CallError::WrongShard { .. } => {
                pool.ctx.links.refresh().await;
                if !pool.has_shard(shard) {
                    return Some(Called::Over);
                }
            }
            error if error.is_retryable() => {
                tracing::debug!(%error, shard, number = request.number, "a lease call failed");
            }
            error => tracing::error!(%error, shard, "a lease call was refused"),
        }
        self.stop.is_cancelled().then_some(Called::Over)
    }

    /// Slots for the same call again: one at least, more if they are free. Leases for which there is none go back.
    async fn slots_again(&self, request: &pb::LeaseRequest) -> Vec<Slot> {
        let first = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            first = self.pool.slots.take() => first,
        };
        let mut slots = Vec::from_iter(first);
        slots.extend(
            self.pool
                .slots
                .take_more(request.max_leases as usize - slots.len()),
        );
        slots
    }

    /// Starts a task a lease, or gives the leases back when we stop.
    async fn start(&self, grant: Grant) {
        let Grant {
            response,
            sent,
            mut slots,
            was_look,
        } = grant;
        let pool = &self.pool;
        pool.balance.heard(self.shard, response.ready.as_ref());
        let is_empty = response.leases.is_empty();
        // Every lease has its guard before anything else happens.
        let guarded: Vec<_> = response
            .leases
            .into_iter()
            .filter_map(|lease| {
                let key = lease.key.filter(|key| pool.first_sight(key, lease.token))?;
                let deadline = Deadline::of_lease(sent, response.held_ms, lease.remaining_ms);
                let held = Held {
                    shard: self.shard,
                    key,
                    token: lease.token,
                    deadline,
                };
                Some((pool.guard(held), lease.work))
            })
            .collect();
        let may_start = !self.stop.is_cancelled() && !pool.ctx.pause.is_on();
        for (guard, work) in guarded {
            pool.ctx.metrics.leases.increment();
            match (slots.pop(), work) {
                (Some(slot), Some(work)) if may_start => pool.spawn(guard, work, slot),
                // More than was asked for, no work, or too late: back it goes.
                _ => give_back(guard),
            }
        }
        drop(slots);
        if is_empty {
            self.nap(sent, response.next_ready_in_ms, was_look).await;
        }
    }

    /// After an empty answer: a shard that was only looked at is left alone for a while, and one that does not wait must not be
    /// asked in a tight loop.
    async fn nap(&self, sent: BootInstant, next_ready_in_ms: u64, was_look: bool) {
        let bounds_ms = match was_look {
            true => IDLE_LOOK_MS,
            false => (0, RETRY_PAUSE_MS.0),
        };
        let asked_ms = match next_ready_in_ms {
            0 => bounds_ms.1 / 2,
            ms => ms.clamp(bounds_ms.0, bounds_ms.1),
        };
        let nap_ms = asked_ms.saturating_sub(BootInstant::now().ms_since(sent));
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(nap_ms)) => {}
        }
    }
}

fn asked_pause_ms(error: &CallError) -> u64 {
    match error {
        CallError::Unavailable { retry_after_ms, .. }
        | CallError::OverLimit { retry_after_ms, .. } => (*retry_after_ms).min(RETRY_PAUSE_MS.1),
        _ => 0,
    }
}

fn give_back(guard: LeaseGuard) {
    drop(guard.finish(End::Release));
}
