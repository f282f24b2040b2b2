//! What each host saw: when it was contacted and how often, judged by its delay.

use super::sites::Sites;
use crate::bench::outcome::rounded;
use serde_json::{Value, json};

const DAY_MS: f64 = 86_400_000.0;

/// What one host saw.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Pages that were fetched.
    pub pages: u32,
    /// Robots files that were fetched.
    pub robots: u32,
    /// Sum of the priorities of the pages.
    pub priorities: u64,
    /// When the newest request arrived, if one did.
    last_arrival_ms: Option<u64>,
    /// When the first page was in.
    first_page_ms: Option<u64>,
    /// When the newest page was in.
    last_page_ms: u64,
}

impl Seen {
    /// How often the host was contacted so far.
    pub const fn contacts(&self) -> u32 {
        self.pages + self.robots
    }

    /// When its newest page was in, days from the start.
    pub fn last_page_days(&self) -> f64 {
        self.last_page_ms as f64 / DAY_MS
    }
}

/// What all hosts saw.
#[derive(Debug)]
pub struct Contacts {
    hosts: Vec<Seen>,
    delay_ms: u64,
    early: u64,
    least_gap_ms: Option<u64>,
}

impl Contacts {
    /// Nothing yet.
    pub fn new(sites: &Sites, delay_ms: u64) -> Self {
        Self {
            hosts: vec![Seen::default(); sites.len() as usize],
            delay_ms,
            early: 0,
            least_gap_ms: None,
        }
    }

    /// What a host saw.
    pub fn of(&self, site: u32) -> Seen {
        self.hosts.get(site as usize).copied().unwrap_or_default()
    }

    /// A request arrives.
    pub fn arrive(&mut self, site: u32, at_ms: u64) {
        let Some(seen) = self.hosts.get_mut(site as usize) else {
            return;
        };
        if let Some(before_ms) = seen.last_arrival_ms.replace(at_ms) {
            let gap_ms = at_ms.saturating_sub(before_ms);
            self.early += u64::from(gap_ms < self.delay_ms);
            self.least_gap_ms = Some(self.least_gap_ms.map_or(gap_ms, |least| least.min(gap_ms)));
        }
    }

    /// A page is in.
    pub fn page(&mut self, site: u32, priority: u32, at_ms: u64) {
        if let Some(seen) = self.hosts.get_mut(site as usize) {
            seen.pages += 1;
            seen.priorities += u64::from(priority);
            seen.first_page_ms.get_or_insert(at_ms);
            seen.last_page_ms = at_ms;
        }
    }

    /// A robots file is in.
    pub fn robots(&mut self, site: u32) {
        if let Some(seen) = self.hosts.get_mut(site as usize) {
            seen.robots += 1;
        }
    }

    /// Contacts that came sooner after the one before than the delay.
    pub const fn early(&self) -> u64 {
        self.early
    }

    /// The shortest time between two contacts of a host.
    pub const fn least_gap_ms(&self) -> Option<u64> {
        self.least_gap_ms
    }

    /// When the hosts had their first page in, days from the start.
    pub fn first_page_days(&self) -> Value {
        let mut first: Vec<u64> = self
            .hosts
            .iter()
            .filter_map(|seen| seen.first_page_ms)
            .collect();
        first.sort_unstable();
        let at = |percent: usize| {
            let rank = (first.len() * percent).div_ceil(100).max(1);
            first.get(rank - 1).map(|ms| rounded(*ms as f64 / DAY_MS))
        };
        json!({ "hosts": first.len(), "median": at(50), "p99": at(99), "last": at(100) })
    }
}
