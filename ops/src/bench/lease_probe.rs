//! Lease calls beside a crawl: how long a shard takes to answer, and to give its first lease. What a probe is given it
//! gives back unstarted, so that a crawl loses nothing by it.

use super::measure::Latencies;
use super::rng::mix;
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;

/// How long a probe's lease lasts if it cannot be given back, ms; the shortest there is.
const TTL_MS: u64 = 5_000;

/// A session with one shard.
pub struct Probe {
    client: Arc<dyn Frontier>,
    shard: u64,
    session: [u8; 16],
    number: u64,
}

impl Probe {
    /// A session that no other one is like.
    pub fn new(client: Arc<dyn Frontier>, shard: u64) -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now_ns = since_epoch.as_nanos() as u64;
        let mut session = [0; 16];
        session[..8].copy_from_slice(&mix(now_ns).to_be_bytes());
        session[8..].copy_from_slice(&mix(now_ns ^ mix(shard)).to_be_bytes());
        Self {
            client,
            shard,
            session,
            number: 0,
        }
    }

    /// Asks once, without waiting for work; whether there was a lease. `None` when the call failed.
    pub async fn ask(&mut self) -> Option<bool> {
        self.number += 1;
        let request = pb::LeaseRequest {
            shard: self.shard,
            session: self.session.to_vec().into(),
            number: self.number,
            max_leases: 1,
            ttl_ms: TTL_MS,
            wait_ms: 0,
        };
        Some(self.client.lease(request).await.ok()?.leases).map(|leases| {
            let granted = !leases.is_empty();
            if granted {
                self.give_back(leases);
            }
            granted
        })
    }

    /// Gives leases back, while the caller goes on. One that cannot be given back runs out by itself.
    fn give_back(&self, leases: Vec<pb::Lease>) {
        let items = leases.into_iter().map(|lease| pb::ReleaseItem {
            key: lease.key,
            token: lease.token,
        });
        let request = pb::ReleaseRequest {
            shard: self.shard,
            items: items.collect(),
        };
        let client = Arc::clone(&self.client);
        tokio::spawn(async move {
            if let Err(error) = client.release(request).await {
                tracing::debug!(%error, "a probe's lease was not given back");
            }
        });
    }
}

#[derive(Default)]
struct Seen {
    granted: Latencies,
    empty: Latencies,
    failed: u64,
}

/// Asks the shards in turn every so often, until it is asked what it saw.
pub struct Prober {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Prober {
    /// Starts it.
    pub fn start(client: &Arc<dyn Frontier>, shards: &[u64], every: Duration) -> Self {
        let probes = shards
            .iter()
            .map(|shard| Probe::new(Arc::clone(client), *shard));
        let mut probes: Vec<Probe> = probes.collect();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let into = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                for probe in &mut probes {
                    tokio::time::sleep(every).await;
                    let started = Instant::now();
                    let granted = probe.ask().await;
                    let mut seen = into.lock().unwrap_or_else(PoisonError::into_inner);
                    match granted {
                        Some(true) => seen.granted.add(started.elapsed()),
                        Some(false) => seen.empty.add(started.elapsed()),
                        None => seen.failed += 1,
                    }
                }
            }
        });
        Self { seen, task }
    }

    /// Stops; what it saw.
    pub fn stop(self) -> Value {
        self.task.abort();
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let (granted, empty) = (seen.granted.len(), seen.empty.len());
        let (lease, none) = (seen.granted.summary_ms(), seen.empty.summary_ms());
        json!({
            "granted": granted,
            "granted_p50_ms": lease.0,
            "granted_p99_ms": lease.1,
            "granted_worst_ms": lease.2,
            "nothing_ready": empty,
            "nothing_ready_p99_ms": none.1,
            "failed": seen.failed,
        })
    }
}

/// The time from `since` to the first lease of a shard; asks again and again.
pub async fn first_lease(
    client: Arc<dyn Frontier>,
    shard: u64,
    since: Instant,
    within: Duration,
) -> Result<Duration, CommandError> {
    /// Pause between two calls.
    const PAUSE: Duration = Duration::from_millis(3);
    let mut probe = Probe::new(client, shard);
    while since.elapsed() < within {
        if probe.ask().await == Some(true) {
            return Ok(since.elapsed());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(CommandError::Message(format!(
        "shard {shard} gave no lease for {} s",
        within.as_secs()
    )))
}
