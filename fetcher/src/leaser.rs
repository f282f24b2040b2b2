//! Lease calls to one shard: numbered, repeated until answered, never for more than the slots that are free.

use std::sync::Arc;
use std::time::Duration;

use client::CallError;
use proto::frontier_v1 as pb;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::deadline::{BootInstant, Deadline};
use crate::held::{Held, LeaseGuard};
use crate::limits::RETRY_PAUSE_MS;
use crate::outcome::End;
use crate::pool::Pool;

/// Asks one shard for work until the stop, or until the shard is gone.
pub(crate) async fn lease_from(pool: Arc<Pool>, shard: u64, stop: CancellationToken) {
    while let Some(slots) = free_slots(&pool, shard, &stop).await {
        let request = pb::LeaseRequest {
            shard,
            session: pool.session.to_vec().into(),
            number: pool.next_number(shard),
            max_leases: u32::try_from(slots.len()).unwrap_or(1),
            ttl_ms: pool.ctx.config.lease_ttl_ms,
            wait_ms: pool.ctx.config.poll_wait_ms,
        };
        match answered(&pool, request, &stop).await {
            Called::Granted(grant) => start(&pool, shard, grant, slots, &stop).await,
            Called::Skipped => {}
            Called::Over => break,
        }
    }
    pool.balance.forget(shard);
}

/// A reply, and when the attempt that got it was sent.
struct Grant {
    response: pb::LeaseResponse,
    sent: BootInstant,
}

enum Called {
    Granted(Grant),
    /// This number is used up; go on with another.
    Skipped,
    /// The shard is gone, or we stop.
    Over,
}

/// Slots for the next call: waits for one, then takes as many as this shard should have. None: stop.
async fn free_slots(
    pool: &Pool,
    shard: u64,
    stop: &CancellationToken,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = async {
        loop {
            pool.ctx.pause.wait().await;
            let slot = Arc::clone(&pool.slots).acquire_owned().await.ok()?;
            // The fetch that freed this slot may be the one that found the store full.
            if !pool.ctx.pause.is_on() {
                return Some(slot);
            }
        }
    };
    let first = tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        first = first => first?,
    };
    let free = pool.slots.available_permits() + 1;
    let ask = pool.balance.ask(shard, free);
    let mut slots = vec![first];
    slots
        .extend((1..ask).map_while(|_| Semaphore::try_acquire_owned(Arc::clone(&pool.slots)).ok()));
    Some(slots)
}

/// Calls until there is an answer to this number. The same number must be asked with the same slots: a repeated answer
/// brings the same leases. A call under way is not dropped at the stop: leases in an answer that nobody reads would expire.
async fn answered(pool: &Pool, mut request: pb::LeaseRequest, stop: &CancellationToken) -> Called {
    let mut pause_ms = RETRY_PAUSE_MS.0;
    loop {
        let sent = BootInstant::now();
        let error = match pool.ctx.frontier.lease(request.clone()).await {
            Ok(response) => {
                pool.answered(request.shard, request.number);
                return Called::Granted(Grant { response, sent });
            }
            Err(error) => error,
        };
        match &error {
            CallError::StaleCall { newest_number } => {
                pool.answered(request.shard, *newest_number);
                return Called::Skipped;
            }
            CallError::WrongShard { .. } => {
                pool.ctx.links.refresh().await;
                if !pool.has_shard(request.shard) {
                    return Called::Over;
                }
            }
            error if error.is_retryable() => {
                tracing::debug!(%error, shard = request.shard, "a lease call failed")
            }
            error => tracing::error!(%error, shard = request.shard, "a lease call was refused"),
        }
        if stop.is_cancelled() {
            return Called::Over;
        }
        // At the stop one more try, without waiting for new work, brings what may have been granted already.
        tokio::select! {
            () = stop.cancelled() => request.wait_ms = 0,
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
        }
        pause_ms = (pause_ms * 2).min(RETRY_PAUSE_MS.1);
    }
}

/// Starts a task a lease, or gives the leases back when we stop.
async fn start(
    pool: &Arc<Pool>,
    shard: u64,
    grant: Grant,
    mut slots: Vec<OwnedSemaphorePermit>,
    stop: &CancellationToken,
) {
    let Grant { response, sent } = grant;
    pool.balance.heard(shard, response.ready.as_ref());
    let is_empty = response.leases.is_empty();
    // Every lease has its guard before anything else happens.
    let guarded: Vec<_> = response
        .leases
        .into_iter()
        .filter_map(|lease| {
            let key = lease.key.filter(|key| pool.first_sight(key, lease.token))?;
            let deadline = Deadline::of_lease(sent, response.held_ms, lease.remaining_ms);
            let held = Held {
                shard,
                key,
                token: lease.token,
                deadline,
            };
            Some((pool.guard(held), lease.work))
        })
        .collect();
    let may_start = !stop.is_cancelled() && !pool.ctx.pause.is_on();
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
        // A frontier that does not wait must not be asked in a tight loop.
        let nap_ms = if response.next_ready_in_ms == 0 {
            RETRY_PAUSE_MS.0
        } else {
            response.next_ready_in_ms.min(RETRY_PAUSE_MS.0)
        };
        if BootInstant::now().ms_since(sent) < nap_ms {
            tokio::time::sleep(Duration::from_millis(nap_ms)).await;
        }
    }
}

fn give_back(guard: LeaseGuard) {
    drop(guard.finish(End::Release));
}
