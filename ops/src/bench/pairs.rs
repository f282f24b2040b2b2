//! The load of N3: fetchers' sessions that lease and report as fast as they are answered.

use super::measure::{Latencies, Measured, Meter};
use super::outcome::rounded;
use super::prepared::digest;
use super::rng::mix;
use super::target::Target;
use crate::output::CommandError;
use client::{CallError, Frontier};
use pb::report_result::Code;
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a lease lasts, ms.
const TTL_MS: u64 = 120_000;
/// How long a call waits for something ready, ms.
const WAIT_MS: u64 = 1_000;
/// How often a call is tried, and the pause between two tries.
const TRIES: u32 = 100;
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A fetcher's session with one shard.
pub struct Session {
    id: [u8; 16],
    shard: u64,
    number: u64,
}

impl Session {
    /// The session of that number.
    pub fn new(number: u64, shard: u64) -> Self {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&mix(number).to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        Self {
            id,
            shard,
            number: 0,
        }
    }

    /// Asks for leases.
    pub async fn lease(
        &mut self,
        client: &dyn Frontier,
        max_leases: u32,
    ) -> Result<Vec<pb::Lease>, CommandError> {
        self.number += 1;
        let request = pb::LeaseRequest {
            shard: self.shard,
            session: self.id.to_vec().into(),
            number: self.number,
            max_leases,
            ttl_ms: TTL_MS,
            wait_ms: WAIT_MS,
        };
        let response = patiently(|| client.lease(request.clone())).await;
        Ok(response
            .map_err(|e| CommandError::of("a lease call failed", e))?
            .leases)
    }

    /// Reports every page as stored; how many leases it closed.
    pub async fn report(
        &self,
        client: &dyn Frontier,
        leases: &[pb::Lease],
    ) -> Result<u64, CommandError> {
        let results = report(client, self.shard, leases).await?;
        Ok(results
            .iter()
            .filter(|result| result.code() == Code::Closed)
            .count() as u64)
    }
}

/// Reports every page as stored; the answers, lease by lease.
pub async fn report(
    client: &dyn Frontier,
    shard: u64,
    leases: &[pb::Lease],
) -> Result<Vec<pb::ReportResult>, CommandError> {
    let request = pb::ReportRequest {
        shard,
        items: leases.iter().map(stored).collect(),
    };
    let response = patiently(|| client.report(request.clone())).await;
    Ok(response
        .map_err(|e| CommandError::of("a report failed", e))?
        .results)
}

/// A call, again while the node cannot take it: each is idempotent, and a node that is too slow for its own time limits
/// shall show as a low figure, not as none.
async fn patiently<T, F>(call: impl Fn() -> F) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    for _ in 1..TRIES {
        match call().await {
            Err(error) if error.is_retryable() => tokio::time::sleep(RETRY_PAUSE).await,
            other => return other,
        }
    }
    call().await
}

fn stored(lease: &pb::Lease) -> pb::Report {
    let fingerprint = lease.key.as_ref().map_or(0, |key| key.fingerprint);
    let page = pb::PageOutcome {
        code: pb::page_outcome::Code::Stored.into(),
        status: 200,
        digest: digest(fingerprint).into(),
        payload_size_bytes: 10_000,
        validators: Some(pb::Validators {
            etag: format!("\"{fingerprint:016x}\""),
            last_modified: String::new(),
        }),
        stores: vec![1],
        ..pb::PageOutcome::default()
    };
    pb::Report {
        key: lease.key,
        token: lease.token,
        contact: Some(pb::Contact {
            since_first_byte_ms: Some(0),
            ..pb::Contact::default()
        }),
        outcome: Some(pb::report::Outcome::Page(page)),
        undelivered: Vec::new(),
    }
}

/// What came of the saturated phase.
#[derive(Debug)]
pub struct Saturated {
    /// Pairs in the measured time.
    pub pairs: u64,
    /// Time, CPU, memory.
    pub measured: Measured,
    node_cpu_seconds: f64,
    empty_calls: u64,
    lease_ms: (f64, f64, f64),
    report_ms: (f64, f64, f64),
    fsyncs: f64,
    entries: f64,
    entry_bytes: f64,
    state_bytes: f64,
}

impl Saturated {
    /// For the outcome's detail.
    pub fn detail(&self) -> Value {
        let pairs = self.pairs.max(1) as f64;
        json!({
            "pairs": self.pairs,
            "node_cpu_seconds": rounded(self.node_cpu_seconds),
            "empty_lease_calls": self.empty_calls,
            "lease_call_p50_ms": self.lease_ms.0,
            "lease_call_p99_ms": self.lease_ms.1,
            "report_call_p50_ms": self.report_ms.0,
            "report_call_p99_ms": self.report_ms.1,
            "fsyncs": self.fsyncs,
            "entries": self.entries,
            "log_bytes_a_pair": rounded(self.entry_bytes / pairs),
            "row_bytes_a_pair": rounded(self.state_bytes / pairs),
        })
    }
}

#[derive(Debug, Default)]
struct Counts {
    pairs: AtomicU64,
    empty: AtomicU64,
    stop: AtomicBool,
}

/// Leases and reports with so many sessions, `batch` leases a call.
pub async fn saturate(
    target: &Target,
    sessions: u64,
    batch: u32,
    (warm_up, measured): (Duration, Duration),
) -> Result<Saturated, CommandError> {
    let counts = Arc::new(Counts::default());
    let shards = target.shards();
    let mut running = Vec::new();
    for number in 0..sessions {
        let Some(shard) = shards.get(number as usize % shards.len().max(1)) else {
            continue;
        };
        let (client, counts) = (target.client().await?, Arc::clone(&counts));
        let session = Session::new(number, *shard);
        running.push(tokio::spawn(async move {
            lease_and_report(&*client, session, batch, &counts).await
        }));
    }
    tokio::time::sleep(warm_up).await;
    let (before, pairs_before) = (
        target.metrics().await?,
        counts.pairs.load(Ordering::Relaxed),
    );
    let (meter, cpu_before) = (Meter::start(), target.cpu_seconds());
    tokio::time::sleep(measured).await;
    let mut measured = meter.stop();
    let node_cpu_seconds = target.cpu_seconds() - cpu_before;
    measured.cpu_seconds += node_cpu_seconds;
    let pairs = counts.pairs.load(Ordering::Relaxed) - pairs_before;
    let after = target.metrics().await?;
    counts.stop.store(true, Ordering::Relaxed);
    let (mut lease, mut report) = (Latencies::default(), Latencies::default());
    for session in running {
        let (mut leases, mut reports) = session
            .await
            .map_err(|e| CommandError::of("a session failed", e))??;
        lease.append(&mut leases);
        report.append(&mut reports);
    }
    let log = |what: &str| after.log(what) - before.log(what);
    Ok(Saturated {
        pairs,
        measured,
        node_cpu_seconds,
        empty_calls: counts.empty.load(Ordering::Relaxed),
        lease_ms: lease.summary_ms(),
        report_ms: report.summary_ms(),
        fsyncs: log("fsyncs"),
        entries: log("entries"),
        entry_bytes: log("entry_bytes"),
        state_bytes: log("state_bytes"),
    })
}

async fn lease_and_report(
    client: &dyn Frontier,
    mut session: Session,
    batch: u32,
    counts: &Counts,
) -> Result<(Latencies, Latencies), CommandError> {
    let (mut lease_times, mut report_times) = (Latencies::default(), Latencies::default());
    while !counts.stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        let leases = session.lease(client, batch).await?;
        lease_times.add(started.elapsed());
        if leases.is_empty() {
            counts.empty.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let started = Instant::now();
        let closed = session.report(client, &leases).await?;
        report_times.add(started.elapsed());
        counts.pairs.fetch_add(closed, Ordering::Relaxed);
    }
    Ok((lease_times, report_times))
}
