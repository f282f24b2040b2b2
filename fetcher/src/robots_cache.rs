//! Parsed robots.txt files by digest: fetched from the host's shard once, parsed once (case D28), asked for every page.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use client::Frontier;
use lru::LruCache;
use parking_lot::Mutex;
use proto::frontier_v1 as pb;
use robots::Robots;

use crate::limits::{RETRY_PAUSE_MS, ROBOTS_BODY_TRIES, ROBOTS_CACHE_ENTRIES};
use crate::metrics::Metrics;

/// Why no verdict can be given. Nothing is fetched then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RulesError {
    /// The lease names no rules, or the shard has that body no more.
    #[error("the rules of the lease are not there")]
    Missing,
    /// The shard did not answer.
    #[error("the shard did not answer")]
    Unavailable,
}

/// The cache, for one product token.
pub(crate) struct RobotsCache {
    product: String,
    parsed: Mutex<LruCache<Vec<u8>, Arc<Robots>>>,
    metrics: Arc<Metrics>,
}

impl RobotsCache {
    pub(crate) fn new(product: &str, metrics: Arc<Metrics>) -> Self {
        let entries = NonZeroUsize::new(ROBOTS_CACHE_ENTRIES).unwrap_or(NonZeroUsize::MIN);
        Self {
            product: product.to_owned(),
            parsed: Mutex::new(LruCache::new(entries)),
            metrics,
        }
    }

    /// Whether the rules that a lease refers to allow this path.
    pub(crate) async fn allows(
        &self,
        frontier: &dyn Frontier,
        (shard, partition): (u64, u64),
        reference: Option<&pb::RobotsReference>,
        path_and_query: &str,
    ) -> Result<bool, RulesError> {
        use pb::robots_reference::State;
        let reference = reference.ok_or(RulesError::Missing)?;
        match reference.state() {
            State::AllowAll => Ok(true),
            State::Rules => {
                let rules = self
                    .rules(frontier, shard, partition, &reference.digest)
                    .await?;
                Ok(rules.check(path_and_query).allowed)
            }
            State::Unspecified => Err(RulesError::Missing),
        }
    }

    async fn rules(
        &self,
        frontier: &dyn Frontier,
        shard: u64,
        partition: u64,
        digest: &[u8],
    ) -> Result<Arc<Robots>, RulesError> {
        if let Some(rules) = self.parsed.lock().get(digest) {
            return Ok(Arc::clone(rules));
        }
        let body = self.body(frontier, shard, partition, digest).await?;
        let rules = Arc::new(Robots::parse(&body, &self.product));
        self.parsed.lock().put(digest.to_vec(), Arc::clone(&rules));
        Ok(rules)
    }

    async fn body(
        &self,
        frontier: &dyn Frontier,
        shard: u64,
        partition: u64,
        digest: &[u8],
    ) -> Result<bytes::Bytes, RulesError> {
        let request = pb::RobotsBodyRequest {
            shard,
            partition,
            digest: digest.to_vec().into(),
        };
        let mut pause_ms = RETRY_PAUSE_MS.0;
        for _ in 0..ROBOTS_BODY_TRIES {
            match frontier.robots_body(request.clone()).await {
                Ok(response) => {
                    self.metrics.robots_bodies.increment();
                    return response.body.ok_or(RulesError::Missing);
                }
                Err(error) if error.is_retryable() => {
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await
                }
                Err(error) => {
                    tracing::error!(%error, "a robots body was refused");
                    return Err(RulesError::Unavailable);
                }
            }
            pause_ms = (pause_ms * 2).min(RETRY_PAUSE_MS.1);
        }
        Err(RulesError::Unavailable)
    }
}
