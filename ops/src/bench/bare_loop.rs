//! The floor of N7: a loop that fetches with the same client, hashes, compresses and extracts links, and keeps nothing. No
//! leases, no robots, no store, no links out, no reports.

use super::measure::{Measured, Meter};
use crate::output::CommandError;
use extract::{ExtractOptions, Extractor, ResponseInfo};
use fetcher::dns::Dns;
use fetcher::http::{BodyCaps, FetchError, HttpClient, Request};
use fetcher::{BootInstant, ContactTrace, Deadline, HttpConfig};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use urlkey::CanonicalUrl;
use urlkey::limits::HARD_MAX_URL_BYTES;

/// How long a fetch may take, far beyond what it does.
const DEADLINE_MS: u64 = 600_000;

/// What the loop did.
#[derive(Debug)]
pub struct Bare {
    /// Pages in the measured time.
    pub pages: u64,
    /// Fetches that failed.
    pub failed: u64,
    /// Time, CPU, memory.
    pub measured: Measured,
}

struct Work {
    http: HttpClient,
    pages: Vec<CanonicalUrl>,
    options: ExtractOptions,
    level: u32,
    next: AtomicUsize,
    done: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

/// Fetches pages round and round, so many at once, for so long.
pub async fn run(
    http: HttpConfig,
    pages: &[String],
    at_once: usize,
    level: u32,
    lasting: Duration,
) -> Result<Bare, CommandError> {
    let verify = |url: &String| CanonicalUrl::verify(url, HARD_MAX_URL_BYTES);
    let pages: Vec<_> = pages
        .iter()
        .map(verify)
        .collect::<Result<_, _>>()
        .map_err(|e| CommandError::of("a page", e))?;
    let options = ExtractOptions::new(http.product.clone());
    let http = HttpClient::new(http, Dns::system(), &[])
        .map_err(|e| CommandError::of("cannot fetch", e))?;
    let work = Arc::new(Work {
        http,
        pages,
        options,
        level,
        next: AtomicUsize::new(0),
        done: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    let loops: Vec<_> = (0..at_once)
        .map(|_| tokio::spawn(fetch_on(Arc::clone(&work))))
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = work.done.load(Ordering::Relaxed);
    let meter = Meter::start();
    tokio::time::sleep(lasting).await;
    let measured = meter.stop();
    let pages = work.done.load(Ordering::Relaxed) - before;
    work.stop.store(true, Ordering::Relaxed);
    for one in loops {
        one.await
            .map_err(|e| CommandError::of("the bare loop failed", e))?;
    }
    Ok(Bare {
        pages,
        failed: work.failed.load(Ordering::Relaxed),
        measured,
    })
}

async fn fetch_on(work: Arc<Work>) {
    while !work.stop.load(Ordering::Relaxed) {
        // A stride, so that neighbours are of different hosts as in a crawl.
        let place = work
            .next
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(7_919)
            % work.pages.len().max(1);
        let Some(url) = work.pages.get(place) else {
            return;
        };
        match page(&work, url).await {
            Ok(()) => work.done.fetch_add(1, Ordering::Relaxed),
            Err(_) => work.failed.fetch_add(1, Ordering::Relaxed),
        };
    }
}

async fn page(work: &Work, url: &CanonicalUrl) -> Result<(), FetchError> {
    let (trace, config) = (ContactTrace::default(), work.http.config());
    let caps = BodyCaps {
        compressed_bytes: config.max_compressed_bytes,
        decoded_bytes: config.max_decoded_bytes,
        oversize: config.oversize,
    };
    let deadline = Deadline::at(BootInstant::now().plus_ms(DEADLINE_MS));
    let request = Request {
        url,
        headers: Vec::new(),
        deadline,
        caps,
        trace: &trace,
    };
    let mut opened = work.http.open(request).await?;
    let mut extractor = Extractor::new(work.options.clone(), ResponseInfo::html(url.clone()));
    let mut payload = Vec::new();
    while let Some(piece) = opened.body.next().await? {
        extractor.push(&piece);
        payload.extend_from_slice(&piece);
    }
    black_box(Sha256::digest(&payload));
    let mut encoder = GzEncoder::new(
        Vec::with_capacity(payload.len() / 3),
        Compression::new(work.level),
    );
    // Writing to memory cannot fail.
    let _ = encoder.write_all(&payload);
    let _ = black_box(encoder.finish());
    black_box(extractor.finish());
    Ok(())
}
