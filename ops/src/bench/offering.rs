//! The load of N1 and N2: writers that each have one batch under way.

use super::measure::{Latencies, Measured, Meter};
use super::outcome::rounded;
use super::target::Target;
use super::urls::{Hosts, Stream};
use crate::output::CommandError;
use client::{CallError, Frontier};
use pb::discover_result::Code;
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much is offered.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Writers at once, each with a connection and a stream of URLs of its own.
    pub writers: usize,
    /// Items of a batch.
    pub batch: usize,
    /// Measured time.
    pub measured: Duration,
    /// Time before it.
    pub warm_up: Duration,
    /// Unevenness of the hosts.
    pub skew: f64,
}

/// Which URLs of its stream a writer offers in its call of that number.
pub type Batches = Arc<dyn Fn(Stream<'_>, u64) -> Vec<pb::DiscoverItem> + Send + Sync>;

/// What came of it in the measured time.
#[derive(Debug)]
pub struct Offered {
    /// Items that were new.
    pub new: u64,
    /// Items that were known.
    pub known: u64,
    /// Items refused, of another shard, or in calls that failed.
    pub other: u64,
    /// Time, CPU, memory.
    pub measured: Measured,
    node_cpu_seconds: f64,
    calls: u64,
    latency_ms: (f64, f64, f64),
    fsyncs: f64,
    entries: f64,
    entry_bytes: f64,
    state_bytes: f64,
}

impl Offered {
    /// For the outcome's detail.
    pub fn detail(&self) -> Value {
        json!({
            "new": self.new,
            "known": self.known,
            "other": self.other,
            "calls": self.calls,
            "node_cpu_seconds": rounded(self.node_cpu_seconds),
            "call_p50_ms": self.latency_ms.0,
            "call_p99_ms": self.latency_ms.1,
            "fsyncs": self.fsyncs,
            "entries": self.entries,
            "log_bytes_a_new_url": rounded(self.entry_bytes / self.new.max(1) as f64),
            "row_bytes_a_new_url": rounded(self.state_bytes / self.new.max(1) as f64),
        })
    }
}

#[derive(Debug, Default)]
struct Counts {
    new: AtomicU64,
    known: AtomicU64,
    other: AtomicU64,
    calls: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
}

impl Counts {
    fn read(&self) -> [u64; 4] {
        [&self.new, &self.known, &self.other, &self.calls]
            .map(|count| count.load(Ordering::Relaxed))
    }

    fn count(&self, results: &[pb::DiscoverResult]) {
        let of = |code: Code| {
            results
                .iter()
                .filter(|result| result.code() == code)
                .count() as u64
        };
        let (new, known) = (of(Code::New), of(Code::Known));
        self.new.fetch_add(new, Ordering::Relaxed);
        self.known.fetch_add(known, Ordering::Relaxed);
        self.other
            .fetch_add(results.len() as u64 - new - known, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Offers batches until the time is over.
pub async fn offer(
    target: &Target,
    hosts: &Arc<Hosts>,
    load: Load,
    batches: &Batches,
) -> Result<Offered, CommandError> {
    let counts = Arc::new(Counts::default());
    let mut writers = Vec::new();
    for number in 0..load.writers {
        let (client, hosts) = (target.client().await?, Arc::clone(hosts));
        writers.push(tokio::spawn(write(
            client,
            hosts,
            number,
            load,
            Arc::clone(batches),
            Arc::clone(&counts),
        )));
    }
    tokio::time::sleep(load.warm_up).await;
    let before = (target.metrics().await?, counts.read());
    counts.measuring.store(true, Ordering::Relaxed);
    let (meter, cpu_before) = (Meter::start(), target.cpu_seconds());
    tokio::time::sleep(load.measured).await;
    let mut measured = meter.stop();
    let node_cpu_seconds = target.cpu_seconds() - cpu_before;
    measured.cpu_seconds += node_cpu_seconds;
    let after = (target.metrics().await?, counts.read());
    counts.stop.store(true, Ordering::Relaxed);
    let mut latencies = Latencies::default();
    for writer in writers {
        let ended = writer
            .await
            .map_err(|e| CommandError::of("a writer failed", e))?;
        latencies.append(&mut ended?);
    }
    let [new, known, other, calls] = std::array::from_fn(|place| after.1[place] - before.1[place]);
    let log = |what: &str| after.0.log(what) - before.0.log(what);
    Ok(Offered {
        new,
        known,
        other,
        measured,
        node_cpu_seconds,
        calls,
        latency_ms: latencies.summary_ms(),
        fsyncs: log("fsyncs"),
        entries: log("entries"),
        entry_bytes: log("entry_bytes"),
        state_bytes: log("state_bytes"),
    })
}

async fn write(
    client: Arc<dyn Frontier>,
    hosts: Arc<Hosts>,
    number: usize,
    load: Load,
    batches: Batches,
    counts: Arc<Counts>,
) -> Result<Latencies, CommandError> {
    let mut latencies = Latencies::default();
    let stream = hosts.stream(number, load.skew);
    let stream = stream.ok_or_else(|| CommandError::Message("there are no hosts".to_owned()))?;
    for call in 0.. {
        if counts.stop.load(Ordering::Relaxed) {
            break;
        }
        let request = pb::DiscoverRequest {
            shard: stream.shard,
            items: batches(stream, call),
        };
        let started = Instant::now();
        counts.count(&discover(&*client, request).await?.results);
        if counts.measuring.load(Ordering::Relaxed) {
            latencies.add(started.elapsed());
        }
    }
    Ok(latencies)
}

/// One call, again while the node has too much to do.
pub async fn discover(
    client: &dyn Frontier,
    request: pb::DiscoverRequest,
) -> Result<pb::DiscoverResponse, CommandError> {
    loop {
        match client.discover(request.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(CallError::OverLimit { retry_after_ms, .. }) if retry_after_ms > 0 => {
                tokio::time::sleep(Duration::from_millis(retry_after_ms)).await;
            }
            Err(error) => return Err(CommandError::of("an offer failed", error)),
        }
    }
}

/// Offers the URLs of every stream with these numbers, and waits for all.
pub async fn preload(
    target: &Target,
    hosts: &Arc<Hosts>,
    load: Load,
    numbers: Range<u64>,
) -> Result<(), CommandError> {
    let mut writers = Vec::new();
    for number in 0..load.writers {
        let (client, hosts) = (target.client().await?, Arc::clone(hosts));
        let numbers = numbers.clone();
        writers.push(tokio::spawn(async move {
            let stream = hosts.stream(number, load.skew);
            let stream =
                stream.ok_or_else(|| CommandError::Message("there are no hosts".to_owned()))?;
            let batch = load.batch as u64;
            for first in numbers.clone().step_by(load.batch) {
                let items = stream.items(first..numbers.end.min(first + batch));
                discover(
                    &*client,
                    pb::DiscoverRequest {
                        shard: stream.shard,
                        items,
                    },
                )
                .await?;
            }
            Ok::<(), CommandError>(())
        }));
    }
    for writer in writers {
        writer
            .await
            .map_err(|e| CommandError::of("a writer failed", e))??;
    }
    Ok(())
}
