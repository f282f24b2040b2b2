//! Names to addresses: a bounded cache with its own rules for failures, one lookup a name at a time, and overrides.
//!
//! Whatever comes out of here is only an answer; whether it may be connected to is [`crate::addresses`]' to say, at each
//! connection again (cases I1, I2).

mod cache;
mod hickory;
mod overrides;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::limits;

use cache::Cache;
pub use hickory::HickorySource;
pub use overrides::{Override, OverrideError, Overrides};

/// Why a name has no address. The first is an answer; the others are the lack of one, and kept apart (case I7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DnsError {
    /// The name does not exist, or has no address.
    #[error("no such name")]
    NotFound,
    /// The name servers failed or refused.
    #[error("the name servers failed")]
    Failed,
    /// They did not answer in time.
    #[error("the name servers did not answer in time")]
    Timeout,
}

/// What a source found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Of both families.
    pub addresses: Vec<IpAddr>,
    /// How long it holds, ms, as the zone says.
    pub ttl_ms: u64,
}

/// Where answers come from.
#[async_trait::async_trait]
pub trait NameSource: Send + Sync + 'static {
    /// Looks up a canonical host name (no trailing dot, no address), as a fully-qualified name.
    async fn lookup(&self, name: &str) -> Result<Answer, DnsError>;
}

type Looked = Result<Arc<[IpAddr]>, DnsError>;
type Flight = Shared<BoxFuture<'static, Looked>>;

/// The resolver: a cache over a source, with at most so many lookups at once.
pub struct Dns {
    source: Arc<dyn NameSource>,
    cache: Arc<Cache>,
    flights: Arc<Mutex<HashMap<String, WeakShared<BoxFuture<'static, Looked>>>>>,
    lookups: Arc<Semaphore>,
    timeout: Duration,
}

impl Dns {
    /// Over a source, with the default bounds.
    #[must_use]
    pub fn new(source: Arc<dyn NameSource>) -> Self {
        Self {
            source,
            cache: Arc::new(Cache::new(limits::DEFAULT_DNS_CACHE_ENTRIES)),
            flights: Arc::default(),
            lookups: Arc::new(Semaphore::new(limits::DEFAULT_DNS_LOOKUPS)),
            timeout: Duration::from_millis(limits::DNS_TIMEOUT_MS),
        }
    }

    /// The system's name servers. Without a usable configuration every lookup fails; overrides and literals still work.
    #[must_use]
    pub fn system() -> Self {
        match HickorySource::system() {
            Ok(source) => Self::new(Arc::new(source)),
            Err(error) => {
                tracing::warn!(%error, "no name servers: only overrides and addresses will be reached");
                Self::new(Arc::new(NoServers))
            }
        }
    }

    /// The addresses of a canonical host name, at most sixteen, never empty.
    ///
    /// # Errors
    ///
    /// Why there is none. Answers, "no such name" and failures are remembered for times of their own.
    pub async fn resolve(&self, name: &str) -> Looked {
        if let Some(known) = self.cache.get(name) {
            return known;
        }
        self.flight(name).await
    }

    /// The lookup in progress for this name, or a new one.
    fn flight(&self, name: &str) -> Flight {
        let mut flights = self.flights.lock();
        // A flight that nobody waits for any more is gone, and its name free to be asked again.
        if let Some(flight) = flights.get(name).and_then(WeakShared::upgrade) {
            return flight;
        }
        let (source, cache, lookups) = (
            Arc::clone(&self.source),
            Arc::clone(&self.cache),
            Arc::clone(&self.lookups),
        );
        let (all, key, timeout) = (Arc::clone(&self.flights), name.to_owned(), self.timeout);
        let flight = async move {
            let looked = look_up(&*source, &lookups, &key, timeout).await;
            cache.put(
                &key,
                looked
                    .as_ref()
                    .map(|(addresses, ttl_ms)| (Arc::clone(addresses), *ttl_ms))
                    .map_err(|e| *e),
            );
            all.lock().remove(&key);
            looked.map(|(addresses, _)| addresses)
        }
        .boxed()
        .shared();
        if flights.len() > 4 * limits::DEFAULT_DNS_LOOKUPS {
            flights.retain(|_, flight| flight.upgrade().is_some());
        }
        if let Some(weak) = flight.downgrade() {
            flights.insert(name.to_owned(), weak);
        }
        flight
    }
}

async fn look_up(
    source: &dyn NameSource,
    lookups: &Semaphore,
    name: &str,
    limit: Duration,
) -> Result<(Arc<[IpAddr]>, u64), DnsError> {
    let limited = async {
        let _turn = lookups.acquire().await.map_err(|_| DnsError::Failed)?;
        source.lookup(name).await
    };
    let mut answer = tokio::time::timeout(limit, limited)
        .await
        .unwrap_or(Err(DnsError::Timeout))?;
    answer.addresses.truncate(limits::MAX_ADDRESSES);
    if answer.addresses.is_empty() {
        return Err(DnsError::NotFound);
    }
    Ok((answer.addresses.into(), answer.ttl_ms))
}

/// A machine without name servers.
struct NoServers;

#[async_trait::async_trait]
impl NameSource for NoServers {
    async fn lookup(&self, _name: &str) -> Result<Answer, DnsError> {
        Err(DnsError::Failed)
    }
}
