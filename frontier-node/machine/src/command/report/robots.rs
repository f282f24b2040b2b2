//! The end of a robots lease, and what any robots finding does to an authority's state.

use super::{Contact, RobotsCode, RobotsFound, RobotsOutcome, apply::touch, page::cut};
use crate::{
    command::lease::LeaseKey,
    counters::Counter,
    error::MachineError,
    hash,
    keys::{self, lease::LeaseRow, robots::RobotsRow},
    limits,
    state::{
        Good, Phase, Robots,
        delay::{self, Failure},
        hosts,
    },
    step::{Step, authority_of},
};
use prost::Message;

impl Step<'_> {
    pub(super) fn close_robots(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        contact: Option<Contact>,
        outcome: &RobotsOutcome,
    ) -> Result<(), MachineError> {
        self.end_lease(key);
        let found = outcome.found.as_ref().filter(|_| !outcome.requeue);
        self.move_robots_host(id, lease, contact, found.map(RobotsFound::code))?;
        // What an errand brought meanwhile answers this very attempt.
        let authority = self
            .m
            .hosts
            .host(id)?
            .authorities
            .get(lease.authority as usize);
        let is_answered = authority.is_some_and(|known| known.robots.answered);
        match found.filter(|found| !is_answered || found.code() != RobotsCode::Pending) {
            Some(found) => self.take_robots(
                id,
                lease.authority as u8,
                lease.crawl,
                found,
                Some(lease.token),
            ),
            None => self.note_robots_closed(id, lease),
        }
    }

    fn move_robots_host(
        &mut self,
        id: u64,
        lease: &LeaseRow,
        contact: Option<Contact>,
        code: Option<RobotsCode>,
    ) -> Result<(), MachineError> {
        let now_ms = self.now_ms;
        let policy = self.m.policy(lease.crawl);
        self.m.change(id, |host, crawls| {
            host.in_flight = false;
            let unanswered = touch(host, contact, lease.granted_ms, now_ms);
            host.delay_ms = delay::delay_ms(host, crawls, Some(lease.crawl));
            let retry_after_ms = contact.map_or(0, |contact| contact.retry_after_ms);
            let wait_ms = if code == Some(RobotsCode::Unreachable) {
                host.failures = host.failures.saturating_add(1);
                delay::back_off_ms(
                    host,
                    &policy,
                    Failure {
                        retry_after_ms,
                        no_response: unanswered,
                    },
                )
            } else {
                if code.is_some() {
                    (host.failures, host.dns_failures) = (0, 0);
                }
                retry_after_ms
                    .min(policy.back_off_cap_ms)
                    .max(if unanswered {
                        policy.fetch_timeout_ms
                    } else {
                        0
                    })
            };
            if wait_ms > 0 {
                host.back_off_until_ms = host.back_off_until_ms.max(now_ms.saturating_add(wait_ms));
            }
        })
    }

    /// Takes a finding: of the robots lease with this token, or of an errand. `crawl` is whose policy says how long it holds.
    pub(crate) fn take_robots(
        &mut self,
        id: u64,
        slot: u8,
        crawl: u32,
        found: &RobotsFound,
        token: Option<u64>,
    ) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let (partition, name) = (host.partition, host.name.clone());
        let authority = authority_of(host, slot)?;
        let known = host
            .authorities
            .get(usize::from(slot))
            .map(|known| known.robots.clone())
            .unwrap_or_default();
        let row_key = keys::robots::key(partition, &name, authority);
        let mut row: RobotsRow = self
            .read(keys::robots::SPACE, &row_key)?
            .unwrap_or_default();
        if let Some(token) = token {
            row.closed_token = token;
        }
        (row.status, row.reason) = (found.status, cut(&found.reason).into());
        match found.code() {
            RobotsCode::Rules if found.no_valid_line && known.good != Good::Nothing => {
                // A challenge page is not a robots.txt: what was good stays.
                self.m.count(Counter::RobotsKept);
                self.renew_robots(id, slot, crawl, known.good)?;
            }
            RobotsCode::Rules => self.take_rules(id, slot, crawl, &known, found, &mut row)?,
            RobotsCode::AllowAll => {
                self.m.count(Counter::RobotsAllowAll);
                self.replace_good(id, slot, known.good, Good::AllowAll)?;
                (row.etag, row.last_modified, row.asked_crawl_delay_ms) = Default::default();
                self.set_crawl_delay(id, slot, 0)?;
                self.renew_robots(id, slot, crawl, Good::AllowAll)?;
            }
            RobotsCode::NotModified if matches!(known.good, Good::Rules(_)) => {
                self.m.count(Counter::RobotsNotModified);
                self.renew_robots(id, slot, crawl, known.good)?;
            }
            RobotsCode::Pending => self.wait_for_errand(id, slot)?,
            RobotsCode::Unreachable | RobotsCode::NotModified => {
                self.m.count(Counter::RobotsFailed);
                let retry_at_ms = self.now_ms.saturating_add(self.robots_retry_ms(id, slot)?);
                self.fail_robots(id, slot, retry_at_ms)?;
            }
        }
        self.overlay.put(row_key, row.encode_to_vec());
        Ok(())
    }

    fn take_rules(
        &mut self,
        id: u64,
        slot: u8,
        crawl: u32,
        known: &Robots,
        found: &RobotsFound,
        row: &mut RobotsRow,
    ) -> Result<(), MachineError> {
        self.m.count(Counter::RobotsRules);
        let digest: [u8; 32] = found
            .digest
            .as_slice()
            .try_into()
            .map_err(|_| MachineError::Invariant("a robots digest was not checked"))?;
        let partition = self.m.hosts.host(id)?.partition;
        self.overlay.put(
            keys::robots_body::key(partition, &digest),
            found.body.clone(),
        );
        self.replace_good(id, slot, known.good, Good::Rules(digest))?;
        let kept = |validator: &String| {
            if validator.len() <= limits::VALIDATOR_SIZE_BYTES {
                validator.clone()
            } else {
                String::new()
            }
        };
        (row.etag, row.last_modified) = (kept(&found.etag), kept(&found.last_modified));
        row.asked_crawl_delay_ms = found.crawl_delay_ms;
        self.set_crawl_delay(id, slot, found.crawl_delay_ms)?;
        if found.crawl_delay_ms > self.m.policy(crawl).crawl_delay_cap_ms {
            self.m.count(Counter::CrawlDelayCapped);
        }
        self.renew_robots(id, slot, crawl, Good::Rules(digest))
    }

    fn set_crawl_delay(&mut self, id: u64, slot: u8, asked_ms: u64) -> Result<(), MachineError> {
        self.m.change(id, |host, _| {
            if let Some(known) = host.authorities.get_mut(usize::from(slot)) {
                known.robots.crawl_delay_ms = u32::try_from(asked_ms).unwrap_or(u32::MAX);
            }
        })
    }

    fn renew_robots(
        &mut self,
        id: u64,
        slot: u8,
        crawl: u32,
        good: Good,
    ) -> Result<(), MachineError> {
        let wall_ms = self.wall_ms;
        let own_ms = self.m.policy(crawl).robots_fresh_ms;
        self.m.change(id, |host, crawls| {
            let queued = host
                .lanes
                .iter()
                .filter(|lane| lane.slot == slot)
                .filter_map(|lane| crawls.get(&lane.crawl));
            let fresh_ms = queued
                .map(|crawl| crawl.policy.robots_fresh_ms)
                .min()
                .unwrap_or(own_ms);
            if let Some(known) = host.authorities.get_mut(usize::from(slot)) {
                known.robots.succeed(good, wall_ms.saturating_add(fresh_ms));
            }
            // The rules may ask for more time than was known when the lease was closed.
            host.delay_ms = delay::delay_ms(host, crawls, Some(crawl)).max(host.delay_ms);
        })
    }

    fn wait_for_errand(&mut self, id: u64, slot: u8) -> Result<(), MachineError> {
        self.m.count(Counter::RobotsPending);
        let until_ms = self
            .now_ms
            .saturating_add(limits::ROBOTS_PENDING_MS.max(self.robots_retry_ms(id, slot)?));
        self.m.change(id, |host, _| {
            if let Some(known) = host.authorities.get_mut(usize::from(slot)) {
                (known.robots.phase, known.robots.until_ms) = (Phase::Pending, until_ms);
            }
        })
    }

    /// An errand that brought nothing by its deadline counts as a failed try.
    pub(crate) fn give_up_pending(&mut self, id: u64, slot: u8) -> Result<(), MachineError> {
        let known = self.m.hosts.host(id)?.authorities.get(usize::from(slot));
        if known.is_some_and(|known| known.robots.phase == Phase::Pending) {
            self.fail_robots(id, slot, self.now_ms)?;
        }
        Ok(())
    }

    /// Exponential with jitter, at most a day. With good rules at hand it starts at an hour: the host's own back-off is about as
    /// long as a first retry, and pages that may go by those rules must find a turn between tries.
    fn robots_retry_ms(&self, id: u64, slot: u8) -> Result<u64, MachineError> {
        let host = self.m.hosts.host(id)?;
        let crawl = host
            .lanes
            .iter()
            .find(|lane| lane.slot == slot)
            .map_or(0, |lane| lane.crawl);
        let known = host
            .authorities
            .get(usize::from(slot))
            .map(|known| &known.robots);
        let failures = known.map_or(0, |robots| robots.failures);
        let has_good = known.is_some_and(|robots| robots.good != Good::Nothing);
        let own_ms = self.m.policy(crawl).back_off_base_ms;
        let base_ms = if has_good {
            own_ms.max(limits::ROBOTS_RETRY_WITH_RULES_MS)
        } else {
            own_ms
        };
        let cap_ms = limits::ROBOTS_RETRY_CAP_MS;
        let exponential_ms = base_ms.saturating_mul(1 << failures.min(40)).min(cap_ms);
        Ok(hash::jitter_ms(
            exponential_ms,
            cap_ms,
            host.hash(u64::from(failures) << 8 | u64::from(slot)),
        ))
    }

    /// A try reached nothing. After 30 days of that the last good rules go, and what waits behind them ends.
    pub(crate) fn fail_robots(
        &mut self,
        id: u64,
        slot: u8,
        retry_at_ms: u64,
    ) -> Result<(), MachineError> {
        let wall_ms = self.wall_ms;
        let dead = self.m.change(id, |host, _| {
            let robots = host
                .authorities
                .get_mut(usize::from(slot))
                .map(|known| &mut known.robots)?;
            robots.fail(retry_at_ms, wall_ms);
            robots.ending.then_some(robots.good)
        })?;
        match dead {
            Some(good) => self.replace_good(id, slot, good, Good::Nothing),
            None => Ok(()),
        }
    }

    /// Swaps the answer that holds; a body that nobody refers to any more goes.
    fn replace_good(
        &mut self,
        id: u64,
        slot: u8,
        old: Good,
        new: Good,
    ) -> Result<(), MachineError> {
        let partition = self.m.hosts.host(id)?.partition;
        let robots_id = hosts::robots_id(id, slot);
        if let Good::Rules(digest) = new {
            self.overlay.put(
                keys::robots_reference::key(partition, &digest, robots_id),
                Vec::new(),
            );
        }
        if let Good::Rules(digest) = old
            && old != new
        {
            self.unrefer(partition, &digest, robots_id)?;
        }
        self.m.change(id, |host, _| {
            if let Some(known) = host.authorities.get_mut(usize::from(slot)) {
                known.robots.good = new;
            }
        })
    }

    pub(crate) fn unrefer(
        &mut self,
        partition: u64,
        digest: &[u8; 32],
        robots_id: u64,
    ) -> Result<(), MachineError> {
        self.overlay
            .delete(keys::robots_reference::key(partition, digest, robots_id));
        let (from, to) = keys::robots_reference::of_body(partition, digest);
        if self.overlay.scan(self.rows, &from, &to, 1)?.is_empty() {
            self.overlay
                .delete(keys::robots_body::key(partition, digest));
        }
        Ok(())
    }

    /// So that a repeat of the report or release is answered as before.
    pub(crate) fn note_robots_closed(
        &mut self,
        id: u64,
        lease: &LeaseRow,
    ) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let row_key = keys::robots::key(
            host.partition,
            &host.name,
            authority_of(host, lease.authority as u8)?,
        );
        let mut row: RobotsRow = self
            .read(keys::robots::SPACE, &row_key)?
            .unwrap_or_default();
        row.closed_token = lease.token;
        self.overlay.put(row_key, row.encode_to_vec());
        Ok(())
    }
}
