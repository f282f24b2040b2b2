//! The latency of a lease under a fixed rate of arrivals. An arrival does not wait for earlier ones, and its latency counts
//! from when it was due, so that a slow answer is not hidden by the calls it held up.

use super::measure::Latencies;
use super::outcome::rounded;
use super::pairs::Session;
use super::target::Target;
use crate::output::CommandError;
use client::Frontier;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Connections of all arrivals.
const CONNECTIONS: usize = 8;
/// Numbers of the sessions begin here.
const FIRST_SESSION: u64 = 1 << 32;
/// Arrivals under way at most; more are counted as dropped.
const UNDER_WAY: usize = 20_000;

/// Sessions that are free: each has one call under way at most.
struct Pool {
    free: Mutex<Vec<Session>>,
    shards: Vec<u64>,
}

impl Pool {
    fn take(&self, arrival: u64) -> Session {
        let free = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        free.unwrap_or_else(|| {
            let shard = self
                .shards
                .get(arrival as usize % self.shards.len().max(1))
                .copied()
                .unwrap_or(1);
            Session::new(FIRST_SESSION + arrival, shard)
        })
    }

    fn give_back(&self, session: Session) {
        self.free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(session);
    }
}

#[derive(Default)]
struct Seen {
    lease: Latencies,
    pair: Latencies,
    empty: u64,
}

/// One lease and its report every `1 / rate` seconds.
pub async fn run(target: &Target, rate: u64, lasting: Duration) -> Result<Value, CommandError> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(target.client().await?);
    }
    let shards = target.shards();
    let pool = Arc::new(Pool {
        free: Mutex::default(),
        shards,
    });
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (mut arrivals, mut dropped) = (JoinSet::new(), 0u64);
    let started = Instant::now();
    let count = (lasting.as_secs_f64() * rate as f64) as u64;
    for arrival in 0..count {
        let due = started + Duration::from_secs_f64(arrival as f64 / rate.max(1) as f64);
        tokio::time::sleep_until(due).await;
        while let Some(ended) = arrivals.try_join_next() {
            done(ended)?;
        }
        if arrivals.len() >= UNDER_WAY {
            dropped += 1;
            continue;
        }
        let client = Arc::clone(&clients[arrival as usize % CONNECTIONS]);
        arrivals.spawn(arrive(
            client,
            Arc::clone(&pool),
            arrival,
            due,
            Arc::clone(&seen),
        ));
    }
    while let Some(ended) = arrivals.join_next().await {
        done(ended)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let pairs = seen.pair.len();
    let (lease, pair) = (seen.lease.summary_ms(), seen.pair.summary_ms());
    Ok(json!({
        "asked_a_second": rate,
        "pairs_a_second": rounded(pairs as f64 / seconds),
        "pairs": pairs,
        "empty_lease_calls": seen.empty,
        "dropped": dropped,
        "lease_p50_ms": lease.0,
        "lease_p99_ms": lease.1,
        "lease_worst_ms": lease.2,
        "pair_p50_ms": pair.0,
        "pair_p99_ms": pair.1,
    }))
}

fn done(
    ended: Result<Result<(), CommandError>, tokio::task::JoinError>,
) -> Result<(), CommandError> {
    ended.map_err(|e| CommandError::of("an arrival failed", e))?
}

async fn arrive(
    client: Arc<dyn Frontier>,
    pool: Arc<Pool>,
    arrival: u64,
    due: Instant,
    seen: Arc<Mutex<Seen>>,
) -> Result<(), CommandError> {
    let mut session = pool.take(arrival);
    let leases = session.lease(&*client, 1).await?;
    let leased = due.elapsed();
    if leases.is_empty() {
        seen.lock().unwrap_or_else(PoisonError::into_inner).empty += 1;
    } else {
        session.report(&*client, &leases).await?;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.lease.add(leased);
        seen.pair.add(due.elapsed());
    }
    pool.give_back(session);
    Ok(())
}
