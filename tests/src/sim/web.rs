//! The simulated web: records the arrival of every request at true time, and judges the gaps between them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::trace::Trace;

struct Arrival {
    at_ms: u64,
    what: String,
}

/// All hosts.
pub(super) struct Web {
    trace: Arc<Trace>,
    min_delay_ms: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: BTreeMap<String, Arrival>,
    arrived: BTreeMap<String, u64>,
    contacts: u64,
    shortest_gap_ms: Option<u64>,
}

impl Web {
    pub(super) fn new(trace: Arc<Trace>, min_delay_ms: u64) -> Self {
        Self {
            trace,
            min_delay_ms,
            inner: Mutex::default(),
        }
    }

    /// A request for a URL arrives at a host. P1: not sooner after the last one than the host's delay.
    pub(super) fn arrive(&self, host: &str, url: &str, at_ms: u64, what: String) {
        let mut inner = self.inner.lock().unwrap();
        inner.contacts += 1;
        *inner.arrived.entry(url.to_owned()).or_default() += 1;
        self.trace.event(format!("arrival {url} {what}"));
        let arrival = Arrival {
            at_ms,
            what: what.clone(),
        };
        if let Some(last) = inner.last.insert(host.to_owned(), arrival) {
            let gap_ms = at_ms.saturating_sub(last.at_ms);
            let shortest_ms = inner.shortest_gap_ms.unwrap_or(u64::MAX).min(gap_ms);
            inner.shortest_gap_ms = Some(shortest_ms);
            if gap_ms < self.min_delay_ms {
                let (least, before) = (self.min_delay_ms, last.what);
                self.trace.violation(format!(
                    "P1: {host} was contacted after {gap_ms} ms instead of {least}: {before}, then {what}"
                ));
            }
        }
    }

    /// How often a URL was asked for.
    pub(super) fn arrivals(&self, url: &str) -> u64 {
        self.inner
            .lock()
            .unwrap()
            .arrived
            .get(url)
            .copied()
            .unwrap_or(0)
    }

    /// All requests, and the shortest gap.
    pub(super) fn totals(&self) -> (u64, Option<u64>) {
        let inner = self.inner.lock().unwrap();
        (inner.contacts, inner.shortest_gap_ms)
    }
}
