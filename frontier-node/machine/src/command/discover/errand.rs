//! Errands: requests that a robots.txt redirect asks of a host of this shard, and what other hosts found for ours.
//!
//! Outside `seen` and page counts. At most one per authority on whose behalf, at most 16 waiting per target host.

use super::{DiscoverResult, Errand, ErrandResult, Refusal};
use crate::{
    authority::Authority,
    command::{lease::LeaseKey, report::RobotsCode},
    counters::Counter,
    error::MachineError,
    keys::{self, errand::ErrandRow},
    limits,
    state::Phase,
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(super) fn place_errand(&mut self, errand: &Errand) -> Result<DiscoverResult, MachineError> {
        if !self.m.holds(errand.partition) {
            return Ok(DiscoverResult::WrongShard);
        }
        let (Some((name, _)), Some(_)) =
            (Authority::of(&errand.url), Authority::of(&errand.origin))
        else {
            return Ok(DiscoverResult::Refused(Refusal::Malformed));
        };
        if errand.hop == 0 || errand.url.len() > limits::URL_SIZE_BYTES {
            return Ok(DiscoverResult::Refused(Refusal::Malformed));
        }
        if errand.hop > limits::ERRAND_HOPS {
            return Ok(DiscoverResult::Refused(Refusal::ErrandHops));
        }
        let row_key = keys::errand::key(errand.partition, name, errand.fingerprint);
        let placed: Option<ErrandRow> = self.read(keys::errand::SPACE, &row_key)?;
        let newest = placed
            .as_ref()
            .and_then(|row| row.errand.as_ref())
            .map(|placed| (placed.attempt, placed.hop));
        if newest.is_some_and(|newest| newest >= (errand.attempt, errand.hop)) {
            return Ok(DiscoverResult::Known);
        }
        let Some(id) = self
            .m
            .hosts
            .find(errand.partition, name)
            .or_else(|| self.new_host(errand.partition, name))
        else {
            return Ok(DiscoverResult::Refused(Refusal::SiteHosts));
        };
        if placed.is_none()
            && usize::from(self.m.hosts.host(id)?.errands) >= limits::ERRANDS_PER_HOST
        {
            return Ok(DiscoverResult::Refused(Refusal::ErrandsFull));
        }
        self.overlay.put(
            row_key,
            ErrandRow {
                errand: Some(errand.clone()),
                expiries: 0,
            }
            .encode_to_vec(),
        );
        self.m.count(Counter::ErrandsPlaced);
        if placed.is_none() {
            let now_ms = self.now_ms;
            self.m.change(id, |host, _| {
                if !host.has_work() {
                    host.since_ms = now_ms;
                }
                host.errands += 1;
            })?;
        }
        Ok(DiscoverResult::New)
    }

    /// Takes an errand's row away.
    pub(crate) fn drop_errand(&mut self, id: u64, row_key: Vec<u8>) -> Result<(), MachineError> {
        self.overlay.delete(row_key);
        self.m
            .change(id, |host, _| host.errands = host.errands.saturating_sub(1))
    }

    /// What an errand found for an authority of this shard. It touched another host: this host's clock is left alone.
    pub(super) fn take_errand_result(
        &mut self,
        result: &ErrandResult,
    ) -> Result<DiscoverResult, MachineError> {
        if !self.m.holds(result.origin_partition) {
            return Ok(DiscoverResult::WrongShard);
        }
        let (Some((name, authority)), Some(found)) =
            (Authority::of(&result.origin), &result.robots)
        else {
            return Ok(DiscoverResult::Refused(Refusal::Malformed));
        };
        // A 304 answers a request the origin made, never an errand's.
        if !found.makes_sense() || found.code() == RobotsCode::NotModified {
            return Ok(DiscoverResult::Refused(Refusal::Malformed));
        }
        let host = self.m.hosts.find(result.origin_partition, name);
        let slot = host
            .and_then(|id| self.m.hosts.get(id))
            .and_then(|host| host.slot(authority));
        let (Some(id), Some(slot)) = (host, slot) else {
            return Ok(DiscoverResult::Known);
        };
        // A quick target answers before the origin's own report says that it waits.
        let is_out = self
            .m
            .leases
            .get(LeaseKey::of_robots(result.origin_partition, id, slot));
        let is_out = is_out.is_some();
        let known = self.m.hosts.host(id)?.authorities.get(usize::from(slot));
        let is_awaited = known.is_some_and(|known| {
            let is_open = known.robots.phase == Phase::Pending || is_out;
            known.robots.attempt == result.attempt && is_open && !known.robots.answered
        });
        if !is_awaited {
            self.m.count(Counter::RobotsOutdated);
            return Ok(DiscoverResult::Known);
        }
        let crawl = self
            .m
            .hosts
            .host(id)?
            .lanes
            .first()
            .map_or(0, |lane| lane.crawl);
        self.take_robots(id, slot, crawl, found, None)?;
        let answered = is_out && found.code() != RobotsCode::Pending;
        self.m.change(id, |host, _| {
            if let Some(known) = host.authorities.get_mut(usize::from(slot)) {
                known.robots.answered = answered;
            }
        })?;
        Ok(DiscoverResult::New)
    }
}
