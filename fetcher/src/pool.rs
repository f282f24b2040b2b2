//! The pool: slots for open fetches, one task a lease, one caller a shard, and an orderly stop.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use proto::frontier_v1 as pb;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::balance::Balance;
use crate::context::Context;
use crate::held::{Held, LeaseGuard};
use crate::limits::{PENDING_A_SLOT, REMEMBERED_LEASES, REPORT_SLOT_MS};
use crate::report::Reporter;
use crate::slots::{Slot, Slots};
use crate::{cycle, errand_cycle, robots_cycle};

/// Identity of a lease: kind, partition, fingerprint, token.
type LeaseId = (i32, u64, u64, u64);

/// What the callers and the tasks of one fetcher share.
pub(crate) struct Pool {
    pub(crate) ctx: Arc<Context>,
    pub(crate) session: [u8; 16],
    pub(crate) slots: Slots,
    pub(crate) balance: Balance,
    pub(crate) reporter: Arc<Reporter>,
    tasks: TaskTracker,
    /// Ends open fetches: the end of the orderly part of a stop.
    abort: CancellationToken,
    /// The newest answered call, by shard.
    numbers: Mutex<HashMap<u64, u64>>,
    seen: Mutex<LruCache<LeaseId, ()>>,
}

impl Pool {
    pub(crate) fn new(ctx: Context, session: [u8; 16]) -> Self {
        let ctx = Arc::new(ctx);
        let reporter = Reporter::new(
            Arc::clone(&ctx.frontier),
            Arc::clone(&ctx.links),
            Arc::clone(&ctx.metrics),
        );
        let remembered = NonZeroUsize::new(REMEMBERED_LEASES).unwrap_or(NonZeroUsize::MIN);
        Self {
            slots: Slots::new(ctx.config.open_fetches),
            session,
            balance: Balance::default(),
            reporter,
            tasks: TaskTracker::new(),
            abort: CancellationToken::new(),
            numbers: Mutex::default(),
            seen: Mutex::new(LruCache::new(remembered)),
            ctx,
        }
    }

    /// The number of the next call to a shard: one more than the newest that was answered.
    pub(crate) fn next_number(&self, shard: u64) -> u64 {
        self.numbers
            .lock()
            .get(&shard)
            .map_or(1, |number| number + 1)
    }

    /// This call was answered.
    pub(crate) fn answered(&self, shard: u64, number: u64) {
        let mut numbers = self.numbers.lock();
        let newest = numbers.entry(shard).or_insert(0);
        *newest = (*newest).max(number);
    }

    pub(crate) fn has_shard(&self, shard: u64) -> bool {
        self.ctx
            .links
            .shards()
            .iter()
            .any(|entry| entry.shard == shard)
    }

    /// Whether this grant is new to us: a lease that we hold or have finished is not run again.
    pub(crate) fn first_sight(&self, key: &pb::LeaseKey, token: u64) -> bool {
        let id = (key.kind, key.partition, key.fingerprint, token);
        let is_new = self.seen.lock().put(id, ()).is_none();
        if !is_new {
            self.ctx.metrics.duplicate_leases.increment();
        }
        is_new
    }

    pub(crate) fn guard(&self, held: Held) -> LeaseGuard {
        LeaseGuard::new(
            held,
            Arc::clone(&self.reporter),
            Arc::clone(&self.ctx.metrics),
        )
    }

    /// Runs a lease in a task of its own. The slot is free again when the frontier has answered for its end.
    pub(crate) fn spawn(self: &Arc<Self>, guard: LeaseGuard, work: pb::lease::Work, slot: Slot) {
        let pool = Arc::clone(self);
        let cycle = async move {
            let end = {
                let run = Box::pin(run(&pool.ctx, &guard, &work));
                tokio::select! {
                    end = run => end,
                    // The guard says what is to be said.
                    () = pool.abort.cancelled() => return,
                }
            };
            let ended = guard.finish(end);
            pool.until_slot_is_free(ended).await;
            drop(slot);
        };
        self.tasks.spawn(cycle.in_current_span());
    }

    /// Returns when the frontier has answered for the end of a lease (or nobody tries any more, which the reporter says), or
    /// after a while: a shard that does not answer must not take the slots of those that do. Then the end goes on by itself.
    async fn until_slot_is_free(&self, mut ended: oneshot::Receiver<()>) {
        let patience = Duration::from_millis(REPORT_SLOT_MS);
        while tokio::time::timeout(patience, &mut ended).await.is_err() {
            if self.reporter.pending() <= self.ctx.config.open_fetches * PENDING_A_SLOT {
                self.ctx.metrics.slots_overtaken.increment();
                return;
            }
        }
    }

    /// Lets open fetches end until the time is over, then ends them; sends what is to be said. Returns whether all of
    /// it was.
    pub(crate) async fn close(&self, limit: Duration) -> bool {
        self.tasks.close();
        // The last part is for the reports of those that had to be ended.
        let orderly = limit - limit / 4;
        if tokio::time::timeout(orderly, self.tasks.wait())
            .await
            .is_err()
        {
            self.abort.cancel();
        }
        tokio::time::timeout(limit - orderly, async {
            self.tasks.wait().await;
            self.reporter.flushed().await;
        })
        .await
        .is_ok()
    }
}

async fn run(ctx: &Context, guard: &LeaseGuard, work: &pb::lease::Work) -> crate::outcome::End {
    let (held, trace) = (guard.held(), guard.trace());
    match work {
        pb::lease::Work::Page(work) => cycle::page(ctx, held, work, trace).await,
        pb::lease::Work::Robots(work) => robots_cycle::robots(ctx, held, work, trace).await,
        pb::lease::Work::Errand(work) => errand_cycle::errand(ctx, held, work, trace).await,
    }
}
