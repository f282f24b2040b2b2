//! The model's clocks: policies with their defaults, the delay, when a host is ready. Written from the design, recomputed always.

use super::state::{Good, Host, Model, Phase, Robots, Url, Where};
use crate::command::set_policy::CrawlPolicy;
use std::collections::BTreeMap;

/// A field or its default.
fn or(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}

/// Crawl minimum; robots crawl-delay, capped; response time times a factor, capped: the largest.
fn delay_of(policy: &CrawlPolicy, asked_ms: u64, response_ms: u64) -> u64 {
    let factor_tenths = or(u64::from(policy.response_time_factor_tenths), 100);
    or(policy.min_delay_ms, 1_000)
        .max(asked_ms.min(or(policy.crawl_delay_cap_ms, 300_000)))
        .max((response_ms * factor_tenths / 10).min(or(policy.response_time_delay_cap_ms, 60_000)))
}

pub fn back_off_bounds_ms(policy: &CrawlPolicy, failures: u32, retry_after_ms: u64, no_response: bool) -> (u64, u64) {
    let cap_ms = or(policy.back_off_cap_ms, 86_400_000);
    let base_ms = or(policy.back_off_base_ms, 10_000);
    let exponential_ms = base_ms.saturating_mul(1 << (failures.saturating_sub(1)).min(30)).min(cap_ms);
    let floor_ms = retry_after_ms.min(cap_ms).max(if no_response { fetch_timeout_ms(policy) } else { 0 });
    let least_ms = exponential_ms - exponential_ms / 4;
    let most_ms = (exponential_ms + exponential_ms / 4).min(cap_ms);
    (least_ms.max(floor_ms), most_ms.max(floor_ms))
}

pub fn fetch_timeout_ms(policy: &CrawlPolicy) -> u64 {
    or(policy.fetch_timeout_ms, 30_000)
}

pub fn max_attempts(policy: &CrawlPolicy) -> u32 {
    or(u64::from(policy.max_attempts), 8) as u32
}

pub fn budget_cycle_ms(policy: &CrawlPolicy) -> u64 {
    or(policy.budget_cycle_ms, 30 * 86_400_000)
}

/// Fetches of a host in a cycle; without a number the delay alone is the limit.
pub fn budget_pages(policy: &CrawlPolicy) -> u64 {
    match policy.host_budget_pages {
        0 => u64::MAX,
        pages => pages,
    }
}

pub fn revisit_bounds_ms(policy: &CrawlPolicy) -> (u64, u64) {
    (or(policy.revisit_min_ms, 3_600_000), or(policy.revisit_max_ms, 90 * 86_400_000))
}

pub fn max_depth(policy: &CrawlPolicy) -> u32 {
    or(u64::from(policy.max_depth), 255) as u32
}

pub fn max_redirect_hops(policy: &CrawlPolicy) -> u32 {
    or(u64::from(policy.max_redirect_hops), 10) as u32
}

pub fn max_queued(policy: &CrawlPolicy) -> (u64, u64, u64) {
    (or(policy.max_queued_per_host, 1_000_000), or(policy.max_queued_per_site, 10_000_000), or(policy.max_hosts_per_site, 100_000))
}

impl Robots {
    /// Whether pages may go out by what is known.
    pub fn lets_pages(&self, wall_ms: u64, now_ms: u64) -> bool {
        let known = self.good != Good::Nothing && !self.ending;
        known
            && match self.phase {
                Phase::Unknown => false,
                Phase::Fresh => self.until_ms > wall_ms,
                Phase::Unreachable => self.until_ms > now_ms,
                // What an errand looks for may forbid what the old rules allow; after a failed try the old rules hold (RFC 9309 2.3.1.4).
                Phase::Pending => self.until_ms > now_ms && self.failures > 0,
            }
    }

    /// Whether its URLs wait for the next try.
    pub fn must_wait(&self) -> bool {
        match self.phase {
            Phase::Unreachable => self.good == Good::Nothing,
            Phase::Pending => self.good == Good::Nothing || self.failures == 0,
            _ => false,
        }
    }

    /// Whether its robots.txt may be asked for.
    pub fn may_be_asked(&self, wall_ms: u64, now_ms: u64) -> bool {
        !self.ending
            && match self.phase {
                Phase::Unknown => true,
                // A date further ahead than a day was stored before the clock stepped back.
                Phase::Fresh => self.until_ms <= wall_ms || self.until_ms > wall_ms + 86_400_000,
                Phase::Unreachable | Phase::Pending => self.until_ms <= now_ms,
            }
    }
}

impl Model {
    /// The delay in force on a host, by what is queued on it now.
    pub fn delay_ms(&self, host: &Host) -> u64 {
        let asked_ms = host.robots.values().map(|robots| robots.asked_ms).max().unwrap_or(0);
        let term = |policy: &CrawlPolicy| delay_of(policy, asked_ms, host.response_ms);
        let queued = self.queued_on(host.partition, &host.name).filter_map(|url| self.crawls.get(&url.crawl));
        let longest = queued.map(|crawl| term(&crawl.given)).max();
        longest.unwrap_or_else(|| term(&CrawlPolicy::default())).max(host.min_delay_ms)
    }

    /// Shard time before which a host may not be leased.
    pub fn clock_ms(&self, host: &Host) -> u64 {
        let contact = host.last_contact_ms.map_or(0, |contact| contact + self.delay_ms(host));
        contact.max(host.back_off_until_ms).max(host.blocked_until_ms)
    }

    /// The same by the delay that its row holds; what stands in the ready order.
    pub fn stored_clock_ms(&self, host: &Host) -> u64 {
        let contact = host.last_contact_ms.map_or(0, |contact| contact + host.stored_delay_ms);
        contact.max(self.clock_ms(host))
    }

    pub fn in_flight(&self, host: &Host) -> bool {
        self.leases.iter().any(|lease| lease.key.partition == host.partition && lease.host == host.name)
    }

    /// Whether a crawl may take no more pages of a host in this cycle.
    pub fn over_budget(&self, host: &Host, crawl: u32) -> bool {
        let (Some(policy), Some(budget)) = (self.crawls.get(&crawl), host.budgets.get(&crawl)) else { return false };
        let limit = budget_pages(&policy.given);
        budget.waits || (self.cycle_runs(budget.ends_unix_ms) && budget.spent >= limit)
    }

    /// Whether a budget cycle that ends then is still running. One that ends later than any cycle may last was stored before
    /// the wall clock stepped back.
    pub fn cycle_runs(&self, ends_unix_ms: u64) -> bool {
        ends_unix_ms > self.wall_ms
    }

    /// URLs that could go out now if the clock allows, as pages or behind their robots.txt.
    pub fn eligible<'a>(&'a self, host: &'a Host) -> Vec<&'a Url> {
        let robots = |url: &Url| host.robots.get(&url.authority).cloned().unwrap_or_default();
        let mut found: Vec<_> = self
            .queued_on(host.partition, &host.name)
            .filter(|url| self.is_live(url.crawl) && !self.over_budget(host, url.crawl))
            .filter(|url| {
                let robots = robots(url);
                robots.lets_pages(self.wall_ms, self.now_ms) || robots.may_be_asked(self.wall_ms, self.now_ms)
            })
            .collect();
        found.sort_by_key(|url| match url.place {
            Where::Queued { due_ms } => (url.priority, due_ms, url.fingerprint),
            _ => (u8::MAX, u64::MAX, u64::MAX),
        });
        found
    }

    /// Class and ready time of a host for each crawl that may lease it now; errands count as the first class.
    pub fn ranks(&self, host: &Host) -> Vec<(u8, u64)> {
        let clock_ms = self.stored_clock_ms(host).max(host.since_ms);
        let mut lanes: BTreeMap<u32, Vec<(u64, u8)>> = BTreeMap::new();
        for url in self.eligible(host) {
            let robots = host.robots.get(&url.authority).cloned().unwrap_or_default();
            let waits_ms = if robots.must_wait() { robots.until_ms } else { 0 };
            lanes.entry(url.crawl).or_default().push((clock_ms.max(waits_ms), url.priority / 32));
        }
        let mut ranks: Vec<_> = lanes.values().filter_map(|lane| lane.iter().min()).map(|(at_ms, class)| (*class, *at_ms)).collect();
        if self.has_errand(host) {
            ranks.push((0, clock_ms));
        }
        ranks
    }

    pub fn has_errand(&self, host: &Host) -> bool {
        self.errands.iter().any(|waiting| waiting.errand.partition == host.partition && waiting.host == host.name)
    }

    /// Whether a lease call that has room must take this host.
    pub fn is_ready(&self, host: &Host) -> bool {
        !self.in_flight(host) && self.stored_clock_ms(host) <= self.now_ms && (self.has_errand(host) || !self.eligible(host).is_empty())
    }
}
