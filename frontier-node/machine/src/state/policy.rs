//! A crawl's policy with its defaults filled in.

use crate::{command::set_policy::CrawlPolicy, keys::crawl::CrawlRow, limits};

/// A crawl of the shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crawl {
    pub policy: Policy,
    /// As it was set, to be written again.
    pub given: CrawlPolicy,
    pub removed: bool,
    pub forget: bool,
}

impl Crawl {
    /// Whether its URLs may be leased.
    pub fn is_live(&self) -> bool {
        !self.removed && !self.policy.paused
    }

    pub fn to_row(self) -> CrawlRow {
        CrawlRow {
            policy: Some(self.given),
            removed: self.removed,
            forget: self.forget,
        }
    }
}

/// Meanings and units as in [`CrawlPolicy`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub min_delay_ms: u64,
    pub crawl_delay_cap_ms: u64,
    pub response_time_factor_tenths: u64,
    pub response_time_delay_cap_ms: u64,
    pub fetch_timeout_ms: u64,
    pub back_off_base_ms: u64,
    pub back_off_cap_ms: u64,
    pub max_attempts: u32,
    pub max_depth: u32,
    pub max_queued_per_host: u64,
    pub max_queued_per_site: u64,
    pub max_hosts_per_site: u64,
    pub max_redirect_hops: u32,
    pub host_budget_pages: u64,
    pub budget_cycle_ms: u64,
    pub revisit: bool,
    pub revisit_min_ms: u64,
    pub revisit_max_ms: u64,
    pub robots_fresh_ms: u64,
    pub paused: bool,
}

const DAY_MS: u64 = 86_400_000;

impl Policy {
    /// Fills defaults in and clamps durations.
    pub fn of(given: &CrawlPolicy) -> Self {
        let ms = |value: u64, default: u64| {
            if value == 0 {
                default
            } else {
                value.min(limits::POLICY_DURATION_MS)
            }
        };
        let count = |value: u64, default: u64| if value == 0 { default } else { value };
        let small = |value: u32, default: u32| if value == 0 { default } else { value };
        Self {
            min_delay_ms: ms(given.min_delay_ms, 1_000),
            crawl_delay_cap_ms: ms(given.crawl_delay_cap_ms, 300_000),
            response_time_factor_tenths: u64::from(small(given.response_time_factor_tenths, 100)),
            response_time_delay_cap_ms: ms(given.response_time_delay_cap_ms, 60_000),
            fetch_timeout_ms: ms(given.fetch_timeout_ms, 30_000),
            back_off_base_ms: ms(given.back_off_base_ms, 10_000),
            back_off_cap_ms: ms(given.back_off_cap_ms, DAY_MS),
            max_attempts: small(given.max_attempts, 8),
            max_depth: small(given.max_depth, 255),
            // A lane counts its URLs in 32 bits.
            max_queued_per_host: count(given.max_queued_per_host, 1_000_000).min(1 << 31),
            max_queued_per_site: count(given.max_queued_per_site, 10_000_000).min(1 << 31),
            max_hosts_per_site: count(given.max_hosts_per_site, 100_000),
            max_redirect_hops: small(given.max_redirect_hops, 10),
            host_budget_pages: given.host_budget_pages,
            budget_cycle_ms: ms(given.budget_cycle_ms, 30 * DAY_MS),
            revisit: given.revisit,
            revisit_min_ms: ms(given.revisit_min_ms, 3_600_000),
            revisit_max_ms: ms(given.revisit_max_ms, 90 * DAY_MS),
            robots_fresh_ms: ms(given.robots_fresh_ms, DAY_MS).min(DAY_MS),
            paused: given.paused,
        }
    }

    /// The policy of what belongs to no crawl (errands).
    pub fn fallback() -> Self {
        Self::of(&CrawlPolicy::default())
    }

    /// Why a given policy is refused; empty when it is not.
    pub fn refusal(given: &CrawlPolicy) -> &'static str {
        let policy = Self::of(given);
        if given.crawl == 0 {
            "crawl_id"
        } else if policy.back_off_base_ms > policy.back_off_cap_ms {
            "back_off_bounds"
        } else if policy.revisit_min_ms > policy.revisit_max_ms {
            "revisit_bounds"
        } else {
            ""
        }
    }
}
