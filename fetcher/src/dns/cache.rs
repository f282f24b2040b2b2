//! What is known of names, each kind of knowledge for its own time.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;

use super::{DnsError, Looked};
use crate::limits::{DNS_FAILURE_TTL_MS, DNS_NOT_FOUND_TTL_MS, DNS_TTL_BOUNDS_MS};

/// A bounded cache of answers and failures.
pub(super) struct Cache(Mutex<LruCache<String, (Looked, Instant)>>);

impl Cache {
    pub(super) fn new(entries: usize) -> Self {
        Self(Mutex::new(LruCache::new(
            NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN),
        )))
    }

    /// What is known and not too old.
    pub(super) fn get(&self, name: &str) -> Option<Looked> {
        let mut entries = self.0.lock();
        let (looked, until) = entries.get(name)?;
        if *until > Instant::now() {
            return Some(looked.clone());
        }
        entries.pop(name);
        None
    }

    /// Replaces what was known: a success clears an earlier failure.
    pub(super) fn put(&self, name: &str, looked: Result<(Arc<[IpAddr]>, u64), DnsError>) {
        let ttl_ms = time_to_live_ms(&looked);
        let until = Instant::now() + Duration::from_millis(ttl_ms);
        self.0.lock().put(
            name.to_owned(),
            (looked.map(|(addresses, _)| addresses), until),
        );
    }
}

fn time_to_live_ms(looked: &Result<(Arc<[IpAddr]>, u64), DnsError>) -> u64 {
    match looked {
        Ok((_, ttl_ms)) => (*ttl_ms).clamp(DNS_TTL_BOUNDS_MS.0, DNS_TTL_BOUNDS_MS.1),
        Err(DnsError::NotFound) => DNS_NOT_FOUND_TTL_MS,
        Err(DnsError::Failed | DnsError::Timeout) => DNS_FAILURE_TTL_MS,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn found(ttl_ms: u64) -> Result<(Arc<[IpAddr]>, u64), DnsError> {
        Ok((Arc::from([IpAddr::from([1, 1, 1, 1])]), ttl_ms))
    }

    /// case I7: no name and no answer are kept for different times.
    #[test]
    fn each_kind_has_its_time() {
        assert_eq!(time_to_live_ms(&found(0)), DNS_TTL_BOUNDS_MS.0);
        assert_eq!(time_to_live_ms(&found(60_000)), 60_000);
        assert_eq!(time_to_live_ms(&found(u64::MAX)), DNS_TTL_BOUNDS_MS.1);
        assert_eq!(
            time_to_live_ms(&Err(DnsError::NotFound)),
            DNS_NOT_FOUND_TTL_MS
        );
        assert_eq!(time_to_live_ms(&Err(DnsError::Timeout)), DNS_FAILURE_TTL_MS);
        assert_eq!(time_to_live_ms(&Err(DnsError::Failed)), DNS_FAILURE_TTL_MS);
    }

    #[test]
    fn bounded_and_replaced() {
        let cache = Cache::new(2);
        cache.put("a", Err(DnsError::Timeout));
        assert_eq!(cache.get("a"), Some(Err(DnsError::Timeout)));
        cache.put("a", found(60_000));
        assert!(cache.get("a").unwrap().is_ok());
        cache.put("b", found(60_000));
        cache.put("c", found(60_000));
        assert_eq!(cache.get("a"), None);
    }
}
