//! Lease and report pairs at a fixed rate from sessions that follow the shard map, as fetchers do: each shard of the map in
//! turn is asked, and a lease is reported to whoever owns its host by then.

use super::measure::Latencies;
use super::pairs::{self, Session};
use crate::cluster::shards;
use crate::output::CommandError;
use client::{RoutedFrontier, Router};
use pb::report_result::Code;
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Numbers of the sessions begin here.
const FIRST_SESSION: u64 = 1 << 33;
/// Arrivals under way at most; more are dropped.
const UNDER_WAY: usize = 5_000;
/// How often a report looks for the owner of its lease, and the pause between two looks.
const OWNER_TRIES: u32 = 200;
const OWNER_PAUSE: Duration = Duration::from_millis(10);

/// A lease that was granted.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// When it came, since the start.
    pub after: Duration,
    /// Partition hash of its host.
    pub partition: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Seen {
    /// Every lease, in no order.
    pub grants: Vec<Grant>,
    /// From when a lease was due.
    pub lease: Latencies,
    /// Calls that got nothing.
    pub empty: u64,
    /// Reports that were sent again to another shard.
    pub moved: u64,
    /// Reports of a lease that was lost.
    pub lost: u64,
    /// Arrivals that were not made.
    pub dropped: u64,
}

/// The load.
pub struct Following {
    router: Arc<Router>,
    frontier: RoutedFrontier,
    started: Instant,
    free: Mutex<BTreeMap<u64, Vec<Session>>>,
    seen: Mutex<Seen>,
}

impl Following {
    /// Over a router, from now on.
    pub fn new(router: Arc<Router>) -> Arc<Self> {
        Arc::new(Self {
            frontier: RoutedFrontier::new(Arc::clone(&router)),
            router,
            started: Instant::now(),
            free: Mutex::default(),
            seen: Mutex::default(),
        })
    }

    /// When it started.
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// One lease and its report every `1 / rate` seconds.
    pub async fn run(self: Arc<Self>, rate: u64, lasting: Duration) -> Result<Seen, CommandError> {
        let mut arrivals = JoinSet::new();
        let count = (lasting.as_secs_f64() * rate as f64) as u64;
        for arrival in 0..count {
            let due = self.started + Duration::from_secs_f64(arrival as f64 / rate.max(1) as f64);
            tokio::time::sleep_until(due.into()).await;
            while let Some(ended) = arrivals.try_join_next() {
                done(ended)?;
            }
            if arrivals.len() >= UNDER_WAY {
                self.note(|seen| seen.dropped += 1);
                continue;
            }
            arrivals.spawn(Arc::clone(&self).arrive(arrival, due));
        }
        while let Some(ended) = arrivals.join_next().await {
            done(ended)?;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *seen))
    }

    async fn arrive(self: Arc<Self>, arrival: u64, due: Instant) -> Result<(), CommandError> {
        let map = shards(&self.router);
        let shard = map.get(arrival as usize % map.len().max(1));
        let shard = shard.copied().unwrap_or(1);
        let mut session = self
            .take(shard)
            .unwrap_or_else(|| Session::new(FIRST_SESSION + arrival, shard));
        let leases = session.lease(&self.frontier, 1).await?;
        let after = self.started.elapsed();
        self.note(|seen| {
            let keys = leases.iter().filter_map(|lease| lease.key.as_ref());
            seen.grants.extend(keys.map(|key| Grant {
                after,
                partition: key.partition,
            }));
            if leases.is_empty() {
                seen.empty += 1;
            } else {
                seen.lease.add(due.elapsed());
            }
        });
        for lease in leases {
            self.report(shard, lease).await?;
        }
        self.give_back(shard, session);
        Ok(())
    }

    /// Reports a lease that `from` gave to whoever owns it.
    async fn report(&self, from: u64, lease: pb::Lease) -> Result<(), CommandError> {
        let partition = lease.key.as_ref().map_or(0, |key| key.partition);
        let leases = [lease];
        let mut shard = from;
        for _ in 0..OWNER_TRIES {
            let results = pairs::report(&self.frontier, shard, &leases).await?;
            match results.first().map(pb::ReportResult::code) {
                Some(Code::Closed | Code::Requeued) => return Ok(()),
                Some(Code::WrongShard) => {}
                Some(Code::LeaseLost) => {
                    self.note(|seen| seen.lost += 1);
                    return Ok(());
                }
                other => {
                    let words = format!("a report was answered {other:?}");
                    return Err(CommandError::Message(words));
                }
            }
            // The old map stays in use where this fails, and the next turn tries again.
            let _ = self.router.catch_up().await;
            let owner = self.router.owner(partition).unwrap_or(from);
            if owner == shard {
                tokio::time::sleep(OWNER_PAUSE).await;
            } else {
                self.note(|seen| seen.moved += 1);
            }
            shard = owner;
        }
        let words = format!("nobody takes the report of a lease that shard {from} gave");
        Err(CommandError::Message(words))
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn take(&self, shard: u64) -> Option<Session> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.get_mut(&shard)?.pop()
    }

    fn give_back(&self, shard: u64, session: Session) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.entry(shard).or_default().push(session);
    }
}

fn done(
    ended: Result<Result<(), CommandError>, tokio::task::JoinError>,
) -> Result<(), CommandError> {
    ended.map_err(|e| CommandError::of("an arrival failed", e))?
}
