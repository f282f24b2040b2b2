//! Slots for open fetches. A lease call holds as many as it may get leases, so that nothing is leased ahead of a free slot;
//! a call that only waits for work gives its slots up as soon as somebody else needs one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::limits::{SLOT_ASK_MS, SLOT_LOOK_MS};

/// A slot; free again when it is dropped.
pub(crate) type Slot = OwnedSemaphorePermit;

/// All slots of a fetcher.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    count: usize,
    /// Callers without a slot.
    waiting: AtomicUsize,
    /// Calls that hold slots and only wait for work.
    parked: AtomicUsize,
    wanted: Notify,
}

/// Counts one of them for as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            count,
            waiting: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            wanted: Notify::new(),
        }
    }

    /// Slots that nobody holds.
    pub(crate) fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Slots that are held.
    pub(crate) fn held(&self) -> usize {
        self.count.saturating_sub(self.free())
    }

    /// Waits for a slot, first come, first served. While there is none, calls that only wait for work are asked for theirs,
    /// one at a time. None: the fetcher is over.
    pub(crate) async fn take(&self) -> Option<Slot> {
        if let Ok(slot) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(slot);
        }
        let _waiting = Counted::new(&self.waiting);
        let slot = Arc::clone(&self.free).acquire_owned();
        tokio::pin!(slot);
        loop {
            let pause_ms = if self.parked.load(Ordering::Acquire) > 0 {
                self.wanted.notify_one();
                SLOT_ASK_MS
            } else {
                SLOT_LOOK_MS
            };
            tokio::select! {
                biased;
                slot = &mut slot => return slot.ok(),
                () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
            }
        }
    }

    /// Up to so many more, without waiting.
    pub(crate) fn take_more(&self, count: usize) -> Vec<Slot> {
        (0..count)
            .map_while(|_| Arc::clone(&self.free).try_acquire_owned().ok())
            .collect()
    }

    /// Whether somebody waits for a slot.
    pub(crate) fn is_contended(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// For a call that only waits for work: completes when its slots are wanted.
    pub(crate) async fn wanted(&self) {
        let _parked = Counted::new(&self.parked);
        loop {
            if self.is_contended() {
                return;
            }
            // A call left over from an earlier want ends this wait in vain: look again.
            self.wanted.notified().await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn slots_go_to_those_who_wait_and_parked_ones_are_asked() {
        let slots = Arc::new(Slots::new(2));
        let first = slots.take().await.unwrap();
        assert_eq!((slots.free(), slots.held()), (1, 1));
        let more = slots.take_more(5);
        assert_eq!((more.len(), slots.free()), (1, 0));
        assert!(slots.wanted().now_or_never().is_none(), "nobody waits");
        let parked = tokio::spawn({
            let slots = Arc::clone(&slots);
            async move {
                slots.wanted().await;
                drop(first);
            }
        });
        let got = slots.take().await.unwrap();
        parked.await.unwrap();
        assert!(!slots.is_contended());
        drop((got, more));
        assert_eq!(slots.held(), 0);
    }

    #[tokio::test]
    async fn one_want_is_one_call() {
        let slots = Arc::new(Slots::new(2));
        let held = [slots.take().await.unwrap(), slots.take().await.unwrap()];
        let parked: Vec<_> = held
            .into_iter()
            .map(|slot| {
                let slots = Arc::clone(&slots);
                tokio::spawn(async move {
                    slots.wanted().await;
                    drop(slot);
                })
            })
            .collect();
        while slots.parked.load(Ordering::Acquire) < 2 {
            tokio::task::yield_now().await;
        }
        let got = slots.take().await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(parked.iter().filter(|task| !task.is_finished()).count(), 1);
        drop(got);
    }
}
