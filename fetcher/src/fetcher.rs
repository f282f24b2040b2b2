//! A fetcher: made, run, stopped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::context::{Context, Parts};
use crate::http::BuildError;
use crate::leaser::lease_from;
use crate::limits::SHARDS_REFRESH_MS;
use crate::metrics::Metrics;
use crate::pool::Pool;

/// Why a fetcher could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its settings, or its HTTP client.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No random bytes for its session.
    #[error("no random bytes for the session")]
    Random,
}

/// A session's name: 16 random bytes.
///
/// # Errors
///
/// No randomness.
pub fn new_session() -> Result<[u8; 16], StartError> {
    let mut session = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut session).map_err(|_| StartError::Random)?;
    Ok(session)
}

/// What a fetcher is doing at a moment.
#[derive(Clone)]
pub struct Gauges(Arc<Pool>);

impl Gauges {
    /// Slots that are held, by fetches or by lease calls.
    #[must_use]
    pub fn held_slots(&self) -> usize {
        self.0.slots.held()
    }

    /// Ends of leases that the frontier has not answered yet.
    #[must_use]
    pub fn pending_ends(&self) -> usize {
        self.0.reporter.pending()
    }

    /// Leasing pauses because the page store cannot write.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.ctx.pause.is_on()
    }
}

/// A stateless fetcher: leases, fetches, stores, reports. Kill any, start any.
pub struct Fetcher {
    pool: Arc<Pool>,
    stop: CancellationToken,
}

impl Fetcher {
    /// Made of parts, under a new session, not yet running.
    ///
    /// # Errors
    ///
    /// A setting out of bounds, TLS that cannot be set up, or no randomness.
    pub fn new(parts: Parts) -> Result<Self, StartError> {
        Self::with_session(parts, new_session()?)
    }

    /// The same under a session of [`new_session`]; no two fetchers may have the same.
    ///
    /// # Errors
    ///
    /// A setting out of bounds, or TLS that cannot be set up.
    pub fn with_session(parts: Parts, session: [u8; 16]) -> Result<Self, StartError> {
        let ctx = Context::new(parts)?;
        Ok(Self {
            pool: Arc::new(Pool::new(ctx, session)),
            stop: CancellationToken::new(),
        })
    }

    /// Asks it to stop; [`Fetcher::run`] then returns within the configured time. May be called from anywhere, at any time.
    #[must_use]
    pub fn stop_handle(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Its counters.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.pool.ctx.metrics)
    }

    /// The session under which it leases.
    #[must_use]
    pub fn session(&self) -> [u8; 16] {
        self.pool.session
    }

    /// What it is doing at this moment, for as long as somebody wants to know.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges(Arc::clone(&self.pool))
    }

    /// Fetches in progress.
    #[must_use]
    pub fn open_fetches(&self) -> usize {
        self.pool.slots.held()
    }

    /// Works until it is asked to stop: one caller for each shard of the map, followed as it changes. Then no lease is
    /// asked for any more, open fetches end or are put back, and every end is reported, within the configured time.
    /// Returns whether all of that was done in time.
    pub async fn run(self) -> bool {
        let mut callers: HashMap<u64, JoinHandle<()>> = HashMap::new();
        let mut refresh = tokio::time::interval(Duration::from_millis(SHARDS_REFRESH_MS));
        let links = Arc::clone(&self.pool.ctx.links);
        loop {
            // Before the shards are read: whatever comes then is heard of.
            let version = links.map_version();
            self.start_callers(&mut callers);
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = links.newer_than(version) => {}
                _ = refresh.tick() => {}
            }
        }
        let limit = Duration::from_millis(self.pool.ctx.config.shutdown_ms);
        let started = tokio::time::Instant::now();
        let calls_limit = limit / 2;
        for (_, caller) in callers {
            let left = calls_limit.saturating_sub(started.elapsed());
            let abort = caller.abort_handle();
            if tokio::time::timeout(left, caller).await.is_err() {
                abort.abort();
            }
        }
        self.pool
            .close(limit.saturating_sub(started.elapsed()))
            .await
    }

    fn start_callers(&self, callers: &mut HashMap<u64, JoinHandle<()>>) {
        callers.retain(|_, caller| !caller.is_finished());
        for entry in self.pool.ctx.links.shards() {
            let (pool, stop) = (Arc::clone(&self.pool), self.stop.clone());
            callers.entry(entry.shard).or_insert_with(|| {
                tokio::spawn(lease_from(pool, entry.shard, stop).in_current_span())
            });
        }
    }
}
