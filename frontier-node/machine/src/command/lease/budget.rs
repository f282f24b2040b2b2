//! Budgets: what a crawl may fetch from a host in a cycle. Without a number it is what the delay allows, which needs no count.

use crate::{
    counters::Counter, error::MachineError, hash, keys::host::BudgetRow, state::Policy, step::Step,
};

impl Step<'_> {
    /// Opens new budget cycles and makes crawls wait that have spent theirs. Cycles only roll forward, but an end further ahead
    /// than two cycles was made by a clock that was set back since.
    pub(super) fn roll_budgets(&mut self, id: u64) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let mut crawls: Vec<u32> = host
            .lanes
            .iter()
            .map(|lane| lane.crawl)
            .filter(|crawl| !host.is_over_budget(*crawl))
            .collect();
        crawls.dedup();
        for crawl in crawls {
            let policy = self.m.policy(crawl);
            let host = self.m.hosts.host(id)?;
            let stored = host
                .budgets()
                .iter()
                .find(|budget| budget.crawl == crawl)
                .copied();
            if policy.host_budget_pages == 0 && stored.is_none() {
                continue;
            }
            let budget = rolled(
                stored,
                crawl,
                &policy,
                self.wall_ms,
                host.hash(u64::from(crawl)),
            );
            if stored == Some(budget) {
                continue;
            }
            if budget.wait_until_unix_ms != 0 {
                self.m.count(Counter::BudgetSpent);
            }
            self.m.change(id, |host, _| {
                let budgets = &mut host.rest_mut().budgets;
                budgets.retain(|other| other.crawl != crawl);
                budgets.push(budget);
            })?;
        }
        Ok(())
    }
}

/// What waits are spread by: a spent host waits up to a quarter of this beyond the end of its cycle.
pub(crate) const fn spread_ms(cycle_ms: u64) -> u64 {
    cycle_ms / 8
}

/// A crawl's budget on a host as it stands now.
fn rolled(
    stored: Option<BudgetRow>,
    crawl: u32,
    policy: &Policy,
    wall_ms: u64,
    hash: u64,
) -> BudgetRow {
    let cycle_ms = policy.budget_cycle_ms.max(1);
    let mut budget = stored.unwrap_or(BudgetRow {
        crawl,
        ..BudgetRow::default()
    });
    if budget.ends_unix_ms <= wall_ms
        || budget.ends_unix_ms > wall_ms.saturating_add(cycle_ms.saturating_mul(2))
    {
        budget = BudgetRow {
            crawl,
            ends_unix_ms: (wall_ms / cycle_ms + 1).saturating_mul(cycle_ms),
            ..BudgetRow::default()
        };
    }
    if policy.host_budget_pages != 0 && budget.spent >= policy.host_budget_pages {
        // Hosts that were spent together do not all come back with the first second of the cycle.
        let spread_ms = spread_ms(cycle_ms);
        budget.wait_until_unix_ms = hash::jitter_ms(spread_ms, u64::MAX, hash)
            .saturating_sub(spread_ms)
            .saturating_add(budget.ends_unix_ms);
    }
    budget
}
