//! The model's clocks: policies with their defaults, the delay, when a host is ready. Written from docs/PROTOCOL.md, recomputed always.

use super::state::{Good, Host, Model, Phase, Robots, Url, WaitingErrand, Where};
use crate::command::{lease::LeaseKind, set_policy::CrawlPolicy};
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

pub fn back_off_bounds_ms(
    policy: &CrawlPolicy,
    failures: u32,
    retry_after_ms: u64,
    no_response: bool,
) -> (u64, u64) {
    let cap_ms = or(policy.back_off_cap_ms, 86_400_000);
    let base_ms = or(policy.back_off_base_ms, 10_000);
    let exponential_ms = base_ms
        .saturating_mul(1 << (failures.saturating_sub(1)).min(30))
        .min(cap_ms);
    let floor_ms = retry_after_ms.min(cap_ms).max(if no_response {
        fetch_timeout_ms(policy)
    } else {
        0
    });
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
    (
        or(policy.revisit_min_ms, 3_600_000),
        or(policy.revisit_max_ms, 90 * 86_400_000),
    )
}

pub fn max_depth(policy: &CrawlPolicy) -> u32 {
    or(u64::from(policy.max_depth), 255) as u32
}

pub fn max_redirect_hops(policy: &CrawlPolicy) -> u32 {
    or(u64::from(policy.max_redirect_hops), 10) as u32
}

pub fn max_queued(policy: &CrawlPolicy) -> (u64, u64, u64) {
    (
        or(policy.max_queued_per_host, 1_000_000),
        or(policy.max_queued_per_site, 10_000_000),
        or(policy.max_hosts_per_site, 100_000),
    )
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
        let asked_ms = host
            .robots
            .values()
            .map(|robots| robots.asked_ms)
            .max()
            .unwrap_or(0);
        let term = |policy: &CrawlPolicy| delay_of(policy, asked_ms, host.response_ms);
        let queued = self
            .queued_on(host.partition, &host.name)
            .filter_map(|url| self.crawls.get(&url.crawl));
        let longest = queued.map(|crawl| term(&crawl.given)).max();
        longest
            .unwrap_or_else(|| term(&CrawlPolicy::default()))
            .max(host.min_delay_ms)
    }

    /// The shortest delay that any crawl's policy gives a host.
    pub fn least_delay_ms(&self, host: &Host) -> u64 {
        let asked_ms = host
            .robots
            .values()
            .map(|robots| robots.asked_ms)
            .max()
            .unwrap_or(0);
        let terms = self
            .crawls
            .values()
            .map(|crawl| delay_of(&crawl.given, asked_ms, host.response_ms));
        terms.min().unwrap_or(0).max(host.min_delay_ms)
    }

    /// Shard time before which a host may not be leased.
    pub fn clock_ms(&self, host: &Host) -> u64 {
        let contact = host
            .last_contact_ms
            .map_or(0, |contact| contact + self.delay_ms(host));
        contact
            .max(host.back_off_until_ms)
            .max(host.blocked_until_ms)
    }

    /// The same by the delay that its row holds; what stands in the ready order.
    pub fn stored_clock_ms(&self, host: &Host) -> u64 {
        let contact = host
            .last_contact_ms
            .map_or(0, |contact| contact + host.stored_delay_ms);
        contact.max(self.clock_ms(host))
    }

    /// Shard time before which an idle host may not be forgotten: any crawl that is not removed, and any errand, may come next.
    pub fn kept_until_ms(&self, host: &Host) -> u64 {
        let asked_ms = host
            .robots
            .values()
            .map(|robots| robots.asked_ms)
            .max()
            .unwrap_or(0);
        let term = |policy: &CrawlPolicy| delay_of(policy, asked_ms, host.response_ms);
        let longest_ms = self
            .crawls
            .values()
            .filter(|crawl| !crawl.removed)
            .map(|crawl| term(&crawl.given))
            .fold(term(&CrawlPolicy::default()), u64::max)
            .max(host.min_delay_ms)
            .max(crate::limits::HOST_KEPT_MS);
        host.last_contact_ms
            .map_or(0, |contact| contact + longest_ms)
            .max(host.back_off_until_ms)
            .max(host.blocked_until_ms)
    }

    pub fn in_flight(&self, host: &Host) -> bool {
        self.leases
            .iter()
            .any(|lease| lease.key.partition == host.partition && lease.host == host.name)
    }

    /// Whether a crawl may take no more pages of a host in this cycle.
    pub fn over_budget(&self, host: &Host, crawl: u32) -> bool {
        let (Some(policy), Some(budget)) = (self.crawls.get(&crawl), host.budgets.get(&crawl))
        else {
            return false;
        };
        let limit = budget_pages(&policy.given);
        // A date further ahead than it may lie was stored before the wall clock stepped back.
        let runs =
            |date: u64, longest_ms: u64| date > self.wall_ms && date <= self.wall_ms + longest_ms;
        self.waits_for_cycle(host, crawl)
            || (runs(budget.ends_unix_ms, 2 * budget_cycle_ms(&policy.given))
                && budget.spent >= limit)
    }

    /// Whether the host was found spent and waits for the next cycle; one that is spent and not looked at since keeps its place.
    fn waits_for_cycle(&self, host: &Host, crawl: u32) -> bool {
        let until = host
            .budgets
            .get(&crawl)
            .map_or(0, |budget| budget.wait_until_unix_ms);
        until > self.wall_ms && until <= self.wall_ms + self.longest_budget_wait_ms()
    }

    /// How far ahead the end of a budget wait may lie; further ones were stored before the wall clock stepped back.
    pub fn longest_budget_wait_ms(&self) -> u64 {
        let cycles = self
            .crawls
            .values()
            .map(|crawl| budget_cycle_ms(&crawl.given));
        let cycle_ms = cycles.max().unwrap_or(0);
        2 * cycle_ms + cycle_ms / 8
    }

    /// URLs that could go out now if the clock allows, as pages or behind their robots.txt.
    pub fn eligible<'a>(&'a self, host: &'a Host) -> Vec<&'a Url> {
        let mut found = self.placed(host);
        found.retain(|url| !self.over_budget(host, url.crawl));
        found
    }

    /// URLs that give the host its place in the ready order.
    fn placed<'a>(&'a self, host: &'a Host) -> Vec<&'a Url> {
        let robots = |url: &Url| host.robots.get(&url.authority).cloned().unwrap_or_default();
        let mut found: Vec<_> = self
            .queued_on(host.partition, &host.name)
            .filter(|url| {
                !host.paused && self.is_live(url.crawl) && !self.waits_for_cycle(host, url.crawl)
            })
            .filter(|url| {
                let robots = robots(url);
                robots.lets_pages(self.wall_ms, self.now_ms)
                    || robots.may_be_asked(self.wall_ms, self.now_ms)
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
        // A host keeps the place of the delay it was last looked at with, even if a policy lengthened it since.
        let contact = host
            .last_contact_ms
            .map_or(0, |contact| contact + host.stored_delay_ms);
        let clock_ms = contact
            .max(host.back_off_until_ms)
            .max(host.blocked_until_ms)
            .max(host.since_ms);
        let mut lanes: BTreeMap<u32, Vec<(u64, u8)>> = BTreeMap::new();
        for url in self.placed(host) {
            let robots = host.robots.get(&url.authority).cloned().unwrap_or_default();
            let waits_ms = if robots.must_wait() {
                robots.until_ms
            } else {
                0
            };
            lanes
                .entry(url.crawl)
                .or_default()
                .push((clock_ms.max(waits_ms), url.priority / 32));
        }
        let mut ranks: Vec<_> = lanes
            .values()
            .filter_map(|lane| lane.iter().min())
            .map(|(at_ms, class)| (*class, *at_ms))
            .collect();
        // It stands there even while another errand of the same origin is out.
        if self.lets_errands(host) && self.errands_of(host).next().is_some() {
            ranks.push((0, clock_ms));
        }
        ranks
    }

    fn errands_of<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = &'a WaitingErrand> {
        self.errands.iter().filter(|waiting| {
            waiting.errand.partition == host.partition && waiting.host == host.name
        })
    }

    fn lets_errands(&self, host: &Host) -> bool {
        !self.paused && !host.paused
    }

    /// Whether the host's first errand may be leased: of one origin at most one is out in a site.
    pub fn has_errand(&self, host: &Host) -> bool {
        let first = self
            .errands_of(host)
            .map(|waiting| waiting.errand.fingerprint)
            .min();
        let is_out = |fingerprint| {
            self.leases.iter().any(|lease| {
                lease.key.kind() == LeaseKind::Errand
                    && lease.key.partition == host.partition
                    && lease.key.fingerprint == fingerprint
            })
        };
        self.lets_errands(host) && first.is_some_and(|first| !is_out(first))
    }

    /// Whether a lease call that has room must take this host.
    pub fn is_ready(&self, host: &Host) -> bool {
        !self.in_flight(host)
            && self.stored_clock_ms(host).max(host.since_ms) <= self.now_ms
            && (self.has_errand(host) || !self.eligible(host).is_empty())
    }
}
