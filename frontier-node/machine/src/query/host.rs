//! What is known of one host, with why it is or is not released now.

use crate::{
    command::lease::LeaseKind,
    error::MachineError,
    keys::{self, host::BudgetRow, robots::RobotsRow},
    machine::Machine,
    rows::Rows,
    state::{Crawl, Good, Host, Lane, Phase, delay},
};

/// What is known of a host; meanings as in `frontier.v1.HostRecord`. Times are shard time unless named otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// Canonical host name.
    pub host: String,
    /// URLs in its queue.
    pub queued: u64,
    /// URLs in its schedule.
    pub scheduled: u64,
    /// Leases out (0 or 1), of any kind.
    pub leased: u64,
    /// URLs that had an answer since the host row was created.
    pub done: u64,
    /// Errands waiting.
    pub errands: u64,
    /// Shard time of the last entry.
    pub now_ms: u64,
    /// 0 = never contacted.
    pub last_contact_ms: u64,
    /// Delay by the policies of now.
    pub delay_ms: u64,
    /// End of its back-off; 0 or past = none.
    pub back_off_until_ms: u64,
    /// Failures in a row.
    pub failures: u32,
    /// End of its block; 0 or past = none.
    pub blocked_until_ms: u64,
    /// From when its clock allows a contact.
    pub ready_at_ms: u64,
    /// Why it is not released now; empty = it is ready.
    pub waits_for: &'static str,
    /// Pages spent in the budget cycles of now, all crawls with a budget together.
    pub budget_spent: u64,
    /// The delay that its own policy asks for; 0 = none.
    pub min_delay_ms: u64,
    /// Nothing of it is leased until it is resumed.
    pub paused: bool,
    /// The lease that is out.
    pub lease: Option<LeaseRecord>,
    /// Its queues.
    pub lanes: Vec<LaneRecord>,
    /// Its budgets.
    pub budgets: Vec<BudgetRecord>,
    /// Its authorities; none in a listing.
    pub authorities: Vec<AuthorityRecord>,
}

/// A lease that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Of what.
    pub kind: LeaseKind,
    /// Fencing token.
    pub token: u64,
    /// Shard time at which it expires.
    pub deadline_ms: u64,
}

/// What of one crawl waits at one authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRecord {
    /// Crawl id.
    pub crawl: u32,
    /// "scheme://host[:port]".
    pub origin: String,
    /// URLs.
    pub queued: u64,
    /// Of its first URL.
    pub priority: u32,
    /// Why nothing of it is released, apart from what holds the whole host; empty = nothing.
    pub waits_for: &'static str,
}

/// What a crawl with a budget spent on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRecord {
    /// Crawl id.
    pub crawl: u32,
    /// Pages in this cycle.
    pub spent: u64,
    /// Unix ms at which the cycle ends.
    pub ends_unix_ms: u64,
    /// Not 0: over budget until then.
    pub wait_until_unix_ms: u64,
}

/// What is known of an authority's robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorityRecord {
    /// "scheme://host[:port]".
    pub origin: String,
    /// Stable name.
    pub robots_state: &'static str,
    /// Of the rules in force; empty = none.
    pub robots_digest: Vec<u8>,
    /// As asked, uncapped.
    pub asked_crawl_delay_ms: u64,
    /// 0 = not fresh.
    pub robots_expires_unix_ms: u64,
    /// Rises with each try.
    pub attempt: u32,
}

impl Machine {
    /// What is known of a host at the last entry; `None` = nothing refers to it.
    ///
    /// # Errors
    ///
    /// Rows that cannot be read.
    pub fn host_record(
        &self,
        rows: &dyn Rows,
        partition: u64,
        name: &str,
    ) -> Result<Option<HostRecord>, MachineError> {
        self.host_record_at(rows, partition, name, self.meta.now_ms)
    }

    /// The same at a later moment of shard time, at which nothing else has happened.
    ///
    /// # Errors
    ///
    /// Rows that cannot be read.
    pub fn host_record_at(
        &self,
        rows: &dyn Rows,
        partition: u64,
        name: &str,
        now_ms: u64,
    ) -> Result<Option<HostRecord>, MachineError> {
        let Some(id) = self.hosts.find(partition, name) else {
            return Ok(None);
        };
        let host = self.hosts.host(id)?;
        let mut record = self.record_of(id, host, now_ms.max(self.meta.now_ms));
        record.authorities = self.authority_records(rows, host)?;
        Ok(Some(record))
    }

    /// All that memory knows of a host.
    pub(super) fn record_of(&self, id: u64, host: &Host, now_ms: u64) -> HostRecord {
        let delay_ms = delay::delay_ms(host, &self.crawls, None);
        let contact_ms = if host.contacted {
            host.last_contact_ms.saturating_add(delay_ms)
        } else {
            0
        };
        let ready_at_ms = contact_ms.max(host.clock_ms());
        HostRecord {
            host: host.name.to_string(),
            queued: u64::from(host.queued()),
            scheduled: u64::from(host.scheduled),
            leased: u64::from(host.in_flight),
            done: u64::from(host.done),
            errands: u64::from(host.errands),
            now_ms,
            last_contact_ms: host.last_contact_ms,
            delay_ms,
            back_off_until_ms: host.back_off_until_ms,
            failures: u32::from(host.failures),
            blocked_until_ms: host.blocked_until_ms(),
            ready_at_ms,
            waits_for: self.waits_for(host, contact_ms, now_ms),
            budget_spent: host.budgets().iter().map(|budget| budget.spent).sum(),
            min_delay_ms: host.min_delay_ms(),
            paused: host.is_paused(),
            lease: self.lease_record(id),
            lanes: self.lane_records(host, now_ms),
            budgets: host.budgets().iter().map(budget_record).collect(),
            authorities: Vec::new(),
        }
    }

    fn lease_record(&self, id: u64) -> Option<LeaseRecord> {
        let key = self.leases.of_host(id)?;
        let entry = self.leases.get(key)?;
        Some(LeaseRecord {
            kind: key.kind(),
            token: entry.token,
            deadline_ms: entry.deadline_ms,
        })
    }

    fn lane_records(&self, host: &Host, now_ms: u64) -> Vec<LaneRecord> {
        let record = |lane: &Lane| {
            let known = host.authorities.get(usize::from(lane.slot));
            LaneRecord {
                crawl: lane.crawl,
                origin: known
                    .map(|known| known.authority.origin(&host.name))
                    .unwrap_or_default(),
                queued: u64::from(lane.count),
                priority: u32::from(lane.priority),
                waits_for: self.lane_waits_for(host, lane, now_ms),
            }
        };
        host.lanes.iter().map(record).collect()
    }

    fn waits_for(&self, host: &Host, contact_ms: u64, now_ms: u64) -> &'static str {
        if host.in_flight {
            "lease"
        } else if !host.has_work() {
            if host.scheduled > 0 {
                "next_visit"
            } else {
                "work"
            }
        } else if self.meta.paused {
            "paused_shard"
        } else if host.is_paused() {
            "paused_host"
        } else if host.blocked_until_ms() > now_ms {
            "block"
        } else if host.back_off_until_ms > now_ms {
            "back_off"
        } else if contact_ms > now_ms {
            "clock"
        } else if host.errands > 0 {
            ""
        } else {
            self.lanes_wait_for(host, now_ms)
        }
    }

    fn lanes_wait_for(&self, host: &Host, now_ms: u64) -> &'static str {
        let mut reasons = host
            .lanes
            .iter()
            .map(|lane| self.lane_waits_for(host, lane, now_ms));
        let first = reasons.next().unwrap_or("work");
        if first.is_empty() || reasons.any(str::is_empty) {
            ""
        } else {
            first
        }
    }

    fn lane_waits_for(&self, host: &Host, lane: &Lane, now_ms: u64) -> &'static str {
        match host
            .authorities
            .get(usize::from(lane.slot))
            .map(|known| &known.robots)
        {
            _ if self
                .crawls
                .get(&lane.crawl)
                .is_none_or(|crawl| crawl.removed) =>
            {
                "removal"
            }
            _ if !self.crawls.get(&lane.crawl).is_some_and(Crawl::is_live) => "paused_crawl",
            _ if host.is_over_budget(lane.crawl) => "budget",
            Some(robots) if robots.waits_until_ms().is_none() => "ending",
            Some(robots)
                if robots.waits_until_ms() > Some(now_ms) && robots.phase == Phase::Pending =>
            {
                "robots_pending"
            }
            Some(robots) if robots.waits_until_ms() > Some(now_ms) => "robots_unreachable",
            _ => "",
        }
    }

    fn authority_records(
        &self,
        rows: &dyn Rows,
        host: &Host,
    ) -> Result<Vec<AuthorityRecord>, MachineError> {
        let mut records = Vec::with_capacity(host.authorities.len());
        for known in &host.authorities {
            let row = rows.get(&keys::robots::key(
                host.partition,
                &host.name,
                known.authority,
            ))?;
            let row: RobotsRow = row
                .map(|row| keys::decode(keys::robots::SPACE, &row))
                .transpose()?
                .unwrap_or_default();
            let fresh = known.robots.phase == Phase::Fresh;
            records.push(AuthorityRecord {
                origin: known.authority.origin(&host.name),
                robots_state: known.robots.name(self.meta.wall_unix_ms),
                robots_digest: if let Good::Rules(digest) = known.robots.good {
                    digest.to_vec()
                } else {
                    Vec::new()
                },
                asked_crawl_delay_ms: row.asked_crawl_delay_ms,
                robots_expires_unix_ms: if fresh { known.robots.until_ms } else { 0 },
                attempt: known.robots.attempt,
            });
        }
        Ok(records)
    }
}

fn budget_record(budget: &BudgetRow) -> BudgetRecord {
    BudgetRecord {
        crawl: budget.crawl,
        spent: budget.spent,
        ends_unix_ms: budget.ends_unix_ms,
        wait_until_unix_ms: budget.wait_until_unix_ms,
    }
}
