//! Lease calls that wait for something ready.
//!
//! First come, first woken, and only as many as there are ready hosts that nobody woken before will take. So a host that
//! becomes ready costs one log entry, not one for each fetcher that waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::limits::PARKED_POLLS;

/// Why a parked call goes on.
#[derive(Debug)]
pub(crate) enum Wake {
    /// Something is ready for it.
    Ready(Claim),
    /// This replica leads no more.
    LeadershipEnded,
    /// The shard was split: hosts that the call waited for may be another shard's now.
    Split,
}

/// As many calls are parked as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many lease calls are parked")]
pub(crate) struct ParkError;

/// The parked calls of one shard.
#[derive(Default)]
pub(crate) struct Parking {
    inner: Mutex<Inner>,
    claims: Arc<Claims>,
}

#[derive(Default)]
struct Inner {
    polls: BTreeMap<u64, Poll>,
    next_ticket: u64,
    /// Nobody is woken before: the last one woken got nothing.
    hold_until: Option<Instant>,
}

struct Poll {
    max_leases: u64,
    wake: oneshot::Sender<Wake>,
}

#[derive(Debug, Default)]
struct Claims {
    hosts: AtomicU64,
    released: Notify,
}

/// Ready hosts that a call on its way to the log will take. Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    hosts: u64,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.hosts.fetch_sub(self.hosts, Ordering::AcqRel);
        self.claims.released.notify_one();
    }
}

/// A parked call; leaves when it is dropped.
pub(crate) struct Parked {
    parking: Arc<Parking>,
    ticket: u64,
    wake: oneshot::Receiver<Wake>,
}

impl Parked {
    /// Waits for the reason to go on.
    pub(crate) async fn woken(&mut self) -> Wake {
        (&mut self.wake).await.unwrap_or(Wake::LeadershipEnded)
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.parking.inner.lock().polls.remove(&self.ticket);
    }
}

impl Parking {
    /// Parks a call that would take up to `max_leases`.
    pub(crate) fn park(self: &Arc<Self>, max_leases: u32) -> Result<Parked, ParkError> {
        let mut inner = self.inner.lock();
        if inner.polls.len() >= PARKED_POLLS {
            return Err(ParkError);
        }
        let (sender, wake) = oneshot::channel();
        let ticket = inner.next_ticket;
        inner.next_ticket += 1;
        inner.polls.insert(
            ticket,
            Poll {
                max_leases: max_leases.into(),
                wake: sender,
            },
        );
        Ok(Parked {
            parking: Arc::clone(self),
            ticket,
            wake,
        })
    }

    /// How many are parked.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().polls.len()
    }

    /// A claim on some of `ready` hosts, if others left any.
    pub(crate) fn claim(&self, ready: u64, max_leases: u32, now: Instant) -> Option<Claim> {
        if self
            .inner
            .lock()
            .hold_until
            .is_some_and(|until| now < until)
        {
            return None;
        }
        self.take(ready, max_leases.into())
    }

    fn take(&self, ready: u64, most: u64) -> Option<Claim> {
        let claims = &self.claims;
        let mut hosts = 0;
        let take = |claimed: u64| {
            hosts = ready.saturating_sub(claimed).min(most);
            (hosts > 0).then_some(claimed + hosts)
        };
        claims
            .hosts
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .ok()?;
        Some(Claim {
            claims: Arc::clone(claims),
            hosts,
        })
    }

    /// Wakes as many as `ready` hosts are for, oldest first.
    pub(crate) fn wake(&self, ready: u64, now: Instant) {
        let mut woken = Vec::new();
        {
            let mut inner = self.inner.lock();
            if inner.hold_until.is_some_and(|until| now < until) {
                return;
            }
            while let Some(first) = inner.polls.first_entry() {
                let Some(claim) = self.take(ready, first.get().max_leases) else {
                    break;
                };
                woken.push((first.remove(), claim));
            }
        }
        // Outside the lock: a claim that is not taken is dropped here.
        for (poll, claim) in woken {
            let _ = poll.wake.send(Wake::Ready(claim));
        }
    }

    /// A call that was woken got nothing: wakes nobody for a while, so that a wrong hint cannot make a busy loop.
    pub(crate) fn hold(&self, now: Instant, pause: Duration) {
        self.inner.lock().hold_until = Some(now + pause);
    }

    /// When the hold ends, if there is one and somebody waits for that.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        let inner = self.inner.lock();
        inner
            .hold_until
            .filter(|until| *until > now && !inner.polls.is_empty())
    }

    /// Ends every wait: this replica leads no more.
    pub(crate) fn end_all(&self) {
        self.end(|| Wake::LeadershipEnded);
    }

    /// Ends every wait: the shard was split.
    pub(crate) fn end_for_split(&self) {
        self.end(|| Wake::Split);
    }

    fn end(&self, why: impl Fn() -> Wake) {
        let polls = std::mem::take(&mut self.inner.lock().polls);
        for (_, poll) in polls {
            let _ = poll.wake.send(why());
        }
    }

    /// Tells the shard's task that somebody parked.
    pub(crate) fn nudge(&self) {
        self.claims.released.notify_one();
    }

    /// Waits until a claim was given back or somebody parked.
    pub(crate) async fn released(&self) {
        self.claims.released.notified().await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn now_or_never(parked: &mut Parked) -> Option<Wake> {
        parked.woken().now_or_never()
    }

    #[tokio::test]
    async fn only_as_many_are_woken_as_there_are_hosts() {
        let parking = Arc::new(Parking::default());
        let now = Instant::now();
        let mut parked: Vec<_> = (0..4).map(|_| parking.park(2).unwrap()).collect();
        parking.wake(3, now);
        let woken: Vec<_> = parked.iter_mut().map(now_or_never).collect();
        assert!(
            matches!(woken[0], Some(Wake::Ready(_))) && matches!(woken[1], Some(Wake::Ready(_)))
        );
        assert!(woken[2].is_none() && woken[3].is_none());
        parking.wake(3, now);
        assert!(
            now_or_never(&mut parked[2]).is_none(),
            "all three are claimed"
        );
        drop(woken);
        parking.released().await;
        parking.wake(1, now);
        assert!(now_or_never(&mut parked[2]).is_some());
    }

    #[tokio::test]
    async fn a_call_that_went_away_leaves_no_claim() {
        let parking = Arc::new(Parking::default());
        drop(parking.park(5).unwrap());
        assert_eq!(parking.len(), 0);
        let mut parked = parking.park(5).unwrap();
        parking.wake(5, Instant::now());
        drop(parked.woken().await);
        assert!(parking.claim(1, 1, Instant::now()).is_some());
    }

    #[tokio::test]
    async fn the_end_of_leadership_wakes_all() {
        let parking = Arc::new(Parking::default());
        let mut parked = parking.park(1).unwrap();
        parking.end_all();
        assert!(matches!(parked.woken().await, Wake::LeadershipEnded));
        let mut parked = parking.park(1).unwrap();
        parking.end_for_split();
        assert!(matches!(parked.woken().await, Wake::Split));
    }

    #[test]
    fn a_hold_wakes_nobody() {
        let parking = Arc::new(Parking::default());
        let now = Instant::now();
        let mut parked = parking.park(1).unwrap();
        parking.hold(now, Duration::from_secs(1));
        parking.wake(9, now);
        assert!(now_or_never(&mut parked).is_none() && parking.claim(9, 1, now).is_none());
        assert_eq!(parking.held_until(now), Some(now + Duration::from_secs(1)));
        parking.wake(9, now + Duration::from_secs(1));
        assert!(now_or_never(&mut parked).is_some());
    }

    #[test]
    fn parking_is_bounded() {
        let parking = Arc::new(Parking::default());
        let parked: Vec<_> = (0..PARKED_POLLS)
            .map(|_| parking.park(1).unwrap())
            .collect();
        assert!(parking.park(1).is_err());
        drop(parked);
        assert!(parking.park(1).is_ok());
    }
}
