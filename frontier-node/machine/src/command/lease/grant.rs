//! Granting one lease of one host: its clock by what is stored now, its budget, then errand, robots or page.

use super::{Lease, LeaseKey, LeaseKind};
use crate::{
    counters::Counter,
    error::MachineError,
    keys::{self, errand::ErrandRow, lease::LeaseRow},
    machine::Machine,
    state::{Good, Host, Lane, LeaseEntry, delay},
    step::Step,
};
use prost::Message;

impl Step<'_> {
    /// Leases a host that its place in the ordered sets calls ready, or moves it to where it belongs.
    pub(super) fn grant(&mut self, id: u64, ttl_ms: u64) -> Result<Option<Lease>, MachineError> {
        if !self.clock_allows(id)? {
            return Ok(None);
        }
        self.roll_budgets(id)?;
        let lane = self.m.best_lane(id, self.now_ms)?;
        let host = self.m.hosts.host(id)?;
        // Errands alternate with pages.
        let errand_first = host.errands > 0 && (host.errand_turn || lane.is_none());
        if errand_first && let Some(lease) = self.grant_errand(id, lane.is_none(), ttl_ms)? {
            return Ok(Some(lease));
        }
        match lane {
            Some(lane) => self.grant_lane(id, lane, ttl_ms),
            None => Ok(None),
        }
    }

    fn grant_lane(
        &mut self,
        id: u64,
        lane: Lane,
        ttl_ms: u64,
    ) -> Result<Option<Lease>, MachineError> {
        let host = self.m.hosts.host(id)?;
        let robots = host
            .authorities
            .get(usize::from(lane.slot))
            .map(|known| &known.robots);
        if robots.is_none_or(|robots| robots.must_be_asked(self.now_ms, self.wall_ms)) {
            self.grant_robots(id, lane, ttl_ms)
        } else {
            self.grant_page(id, lane, ttl_ms).map(Some)
        }
    }

    /// The place in the sets was computed when the host last changed; policies may have changed since. What counts is the delay
    /// by the policies of now.
    fn clock_allows(&mut self, id: u64) -> Result<bool, MachineError> {
        let host = self.m.hosts.host(id)?;
        if host.in_flight {
            return Err(MachineError::Invariant("a host in flight is called ready"));
        }
        let delay_ms = delay::delay_ms(host, &self.m.crawls, None);
        if delay_ms != host.delay_ms {
            self.m.change(id, |host, _| host.delay_ms = delay_ms)?;
        }
        Ok(self.m.hosts.host(id)?.clock_ms() <= self.now_ms)
    }

    fn grant_page(&mut self, id: u64, lane: Lane, ttl_ms: u64) -> Result<Lease, MachineError> {
        let (place, row) = self.take_head(id, lane.crawl, lane.slot)?;
        let host = self.m.hosts.host(id)?;
        let robots_digest = match host
            .authorities
            .get(usize::from(lane.slot))
            .map(|known| known.robots.good)
        {
            Some(Good::Rules(digest)) => Some(digest.to_vec()),
            Some(Good::AllowAll) => None,
            _ => return Err(MachineError::Invariant("a page is released without robots")),
        };
        let key = LeaseKey {
            kind: LeaseKind::Page as i32,
            partition: host.partition,
            fingerprint: place.fingerprint,
        };
        let mut lease = LeaseRow {
            authority: u32::from(lane.slot),
            crawl: place.crawl,
            priority: u32::from(place.priority),
            due_ms: place.due_ms,
            tried: row.tried,
            url: row.url,
            depth: row.depth,
            redirect_hops: row.redirect_hops,
            metadata: row.metadata,
            queue_key: row.queue_key,
            delay_ms: host.delay_ms,
            robots_digest,
            ..LeaseRow::default()
        };
        self.m.meta.leased += 1;
        self.m.count(Counter::LeasedPages);
        self.open(id, key, &mut lease, ttl_ms, |host| {
            host.errand_turn = host.errands > 0;
            if let Some(budget) = host.rest.as_mut().and_then(|rest| {
                rest.budgets
                    .iter_mut()
                    .find(|budget| budget.crawl == place.crawl)
            }) {
                budget.spent += 1;
            }
        })?;
        self.lease_of(&lease)
    }

    /// `None` when asking again shows that the robots were unreachable for too long.
    fn grant_robots(
        &mut self,
        id: u64,
        lane: Lane,
        ttl_ms: u64,
    ) -> Result<Option<Lease>, MachineError> {
        self.give_up_pending(id, lane.slot)?;
        let host = self.m.hosts.host_mut(id)?;
        let partition = host.partition;
        let Some(robots) = host
            .authorities
            .get_mut(usize::from(lane.slot))
            .map(|known| &mut known.robots)
        else {
            return Err(MachineError::Invariant("an authority is not there"));
        };
        if robots.ending {
            return Ok(None);
        }
        robots.attempt = robots.attempt.wrapping_add(1);
        robots.answered = false;
        let attempt = robots.attempt;
        let key = LeaseKey::of_robots(partition, id, lane.slot);
        let mut lease = LeaseRow {
            authority: u32::from(lane.slot),
            crawl: lane.crawl,
            attempt,
            ..LeaseRow::default()
        };
        self.m.count(Counter::LeasedRobots);
        self.open(id, key, &mut lease, ttl_ms, |_| {})?;
        self.lease_of(&lease).map(Some)
    }

    /// `None` when another host of the site is leased for the same origin: a lease's key names origin and site only.
    /// `alone`: the host has nothing else to do, and waits for the end of that lease.
    fn grant_errand(
        &mut self,
        id: u64,
        alone: bool,
        ttl_ms: u64,
    ) -> Result<Option<Lease>, MachineError> {
        let host = self.m.hosts.host(id)?;
        let partition = host.partition;
        let (from, to) = keys::errand::of_host(partition, &host.name);
        let first = self.overlay.scan(self.rows, &from, &to, 1)?;
        let (_, value) = first
            .first()
            .ok_or(MachineError::Invariant("a waiting errand has no row"))?;
        let row: ErrandRow = keys::decode(keys::errand::SPACE, value)?;
        let errand = row
            .errand
            .ok_or_else(|| MachineError::corrupt(keys::errand::SPACE, "no errand"))?;
        let key = LeaseKey {
            kind: LeaseKind::Errand as i32,
            partition,
            fingerprint: errand.fingerprint,
        };
        if let Some(other) = self.m.leases.get(key) {
            self.m.change(id, |host, _| {
                host.errand_turn = false;
                if alone {
                    host.since_ms = host.since_ms.max(other.deadline_ms);
                }
            })?;
            return Ok(None);
        }
        let mut lease = LeaseRow {
            errand: Some(errand),
            ..LeaseRow::default()
        };
        self.m.count(Counter::LeasedErrands);
        self.open(id, key, &mut lease, ttl_ms, |host| host.errand_turn = false)?;
        self.lease_of(&lease).map(Some)
    }

    /// Everything that makes a lease: token, row, deadline, the host in flight.
    fn open(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &mut LeaseRow,
        ttl_ms: u64,
        act: impl FnOnce(&mut Host),
    ) -> Result<(), MachineError> {
        self.m.meta.token += 1;
        let token = self.m.meta.token;
        let deadline_ms = self.now_ms.saturating_add(ttl_ms);
        self.m.change(id, |host, _| {
            act(host);
            host.in_flight = true;
        })?;
        lease.key = Some(key);
        (lease.token, lease.granted_ms, lease.deadline_ms) = (token, self.now_ms, deadline_ms);
        lease.host = self.m.hosts.host(id)?.name.to_string();
        self.m.leases.insert(
            key,
            LeaseEntry {
                token,
                deadline_ms,
                host: id,
            },
        );
        self.overlay
            .put(keys::lease::key(key), lease.encode_to_vec());
        Ok(())
    }
}

impl Machine {
    /// Among lanes that may go, the one with the best head.
    fn best_lane(&self, id: u64, now_ms: u64) -> Result<Option<Lane>, MachineError> {
        let host = self.hosts.host(id)?;
        let is_aliased = host.alias().is_some();
        let may_go = |lane: &&Lane| {
            !is_aliased
                && self.is_live(lane.crawl)
                && host
                    .lane_ready_ms(lane)
                    .is_some_and(|at_ms| at_ms <= now_ms)
        };
        let best = host.lanes.iter().filter(may_go);
        Ok(best
            .min_by_key(|lane| (lane.head(), lane.crawl, lane.slot))
            .copied())
    }
}
