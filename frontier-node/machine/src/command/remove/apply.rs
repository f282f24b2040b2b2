//! Applying one slice of a removal. Check and removal are one step, so two removers cannot both have a URL. What is leased
//! is marked and closes as removed; its host stays in flight.

use super::{HostTarget, Remove, RemoveReply, Target};
use crate::{
    command::lease::{LeaseKey, LeaseKind},
    error::MachineError,
    keys::{
        self,
        lease::LeaseRow,
        queue::{Place, QueueRow},
        schedule::{self, ScheduleRow},
        url::{Stored, UrlRow},
    },
    limits,
    step::{Step, shrink},
};
use prost::Message;

/// What a slice may still do.
pub(super) struct Quota {
    pub removals: usize,
    pub looks: usize,
}

impl Quota {
    pub fn is_spent(&self) -> bool {
        self.removals == 0 || self.looks == 0
    }
}

impl Step<'_> {
    pub(crate) fn remove(&mut self, slice: &Remove) -> Result<RemoveReply, MachineError> {
        let refused = |refused| {
            Ok(RemoveReply {
                refused,
                ..RemoveReply::default()
            })
        };
        if !self.m.crawls.contains_key(&slice.crawl) {
            return refused("unknown_crawl");
        }
        match &slice.target {
            None => refused("no_target"),
            Some(Target::Url(target)) if !self.m.holds(target.partition) => refused("wrong_shard"),
            Some(Target::Host(target)) if !self.m.holds(target.partition) => refused("wrong_shard"),
            Some(Target::Url(target)) => self.remove_url(slice, target),
            Some(Target::Host(target)) => self.remove_host(slice, target),
            Some(Target::Crawl(_)) => self.remove_crawl(slice),
        }
    }

    fn remove_host(
        &mut self,
        slice: &Remove,
        target: &HostTarget,
    ) -> Result<RemoveReply, MachineError> {
        let mut reply = RemoveReply::default();
        let Some(id) = self.m.hosts.find(target.partition, &target.host) else {
            return Ok(reply);
        };
        let mut quota = Quota {
            removals: limits::REMOVALS_PER_SLICE,
            looks: limits::LOOKED_AT_PER_SLICE,
        };
        reply.marked = u64::from(self.mark_leased(id, slice)?);
        reply.cursor = self
            .remove_waiting(id, slice, &slice.cursor, &mut quota)?
            .unwrap_or_default();
        reply.removed = (limits::REMOVALS_PER_SLICE - quota.removals) as u64;
        Ok(reply)
    }

    /// Marks a host's lease if it is a page of the crawl.
    pub(super) fn mark_leased(&mut self, id: u64, slice: &Remove) -> Result<bool, MachineError> {
        let Some(key) = self
            .m
            .leases
            .of_host(id)
            .filter(|key| key.kind() == LeaseKind::Page)
        else {
            return Ok(false);
        };
        let (_, lease) = self.leased(key)?;
        Ok(self.mark(key, lease, slice))
    }

    pub(super) fn mark(&mut self, key: LeaseKey, mut lease: LeaseRow, slice: &Remove) -> bool {
        if lease.crawl != slice.crawl {
            return false;
        }
        (lease.removed, lease.forget) = (true, lease.forget || slice.forget);
        self.overlay
            .put(keys::lease::key(key), lease.encode_to_vec());
        true
    }

    /// Removes a host's queue and schedule in the crawl. `Some` = where to go on, not empty.
    pub(super) fn remove_waiting(
        &mut self,
        id: u64,
        slice: &Remove,
        cursor: &[u8],
        quota: &mut Quota,
    ) -> Result<Option<Vec<u8>>, MachineError> {
        let slots: Vec<u8> = self
            .m
            .hosts
            .host(id)?
            .lanes
            .iter()
            .filter(|lane| lane.crawl == slice.crawl)
            .map(|lane| lane.slot)
            .collect();
        for slot in slots {
            self.remove_lane(id, slice, slot, quota)?;
        }
        if self
            .m
            .hosts
            .host(id)?
            .lanes
            .iter()
            .any(|lane| lane.crawl == slice.crawl)
        {
            return Ok(Some(if cursor.is_empty() {
                vec![0]
            } else {
                cursor.to_vec()
            }));
        }
        self.remove_schedule(id, slice, cursor, quota)
    }

    fn remove_lane(
        &mut self,
        id: u64,
        slice: &Remove,
        slot: u8,
        quota: &mut Quota,
    ) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let (partition, name) = (host.partition, host.name.clone());
        let authority = crate::step::authority_of(host, slot)?;
        let (from, to) = keys::queue::lanes(partition, &name, Some(slice.crawl), Some(authority));
        let rows = self
            .overlay
            .scan(self.rows, &from, &to, quota.removals.min(quota.looks))?;
        for (key, value) in &rows {
            let place = keys::queue::parse(partition, &name, key)?;
            let row = keys::decode(keys::queue::SPACE, value)?;
            self.overlay.delete(key.clone());
            self.remove_queued(partition, place, row, slice.forget)?;
        }
        quota.removals -= rows.len();
        quota.looks -= rows.len();
        self.shrink_lane(id, slice.crawl, slot, rows.len() as u32)
    }

    /// Sets a lane right whose rows were taken out of the queue.
    pub(super) fn shrink_lane(
        &mut self,
        id: u64,
        crawl: u32,
        slot: u8,
        count: u32,
    ) -> Result<(), MachineError> {
        if count == 0 {
            return Ok(());
        }
        let host = self.m.hosts.host(id)?;
        let partition = host.partition;
        let (from, to) = keys::queue::lanes(
            partition,
            &host.name,
            Some(crawl),
            Some(crate::step::authority_of(host, slot)?),
        );
        let next = self.overlay.scan(self.rows, &from, &to, 1)?;
        let next = next
            .first()
            .map(|(key, _)| keys::queue::parse(partition, &host.name, key))
            .transpose()?;
        self.count_dequeued(partition, count);
        self.m
            .change(id, |host, _| shrink(host, crawl, slot, count, next))?
    }

    pub(super) fn remove_queued(
        &mut self,
        partition: u64,
        place: Place,
        row: QueueRow,
        forget: bool,
    ) -> Result<(), MachineError> {
        self.m.meta.removed += 1;
        if forget {
            self.forget_url(partition, place.fingerprint);
            return Ok(());
        }
        let url = if row.tried {
            self.tried_url(partition, place.fingerprint)?
        } else {
            UrlRow::of_queue(place.crawl, place.priority, row)
        };
        self.put_removed(partition, place.fingerprint, url);
        Ok(())
    }

    pub(super) fn put_removed(&mut self, partition: u64, fingerprint: u64, mut url: UrlRow) {
        (url.state, url.next_visit_unix_ms) = (Stored::Removed as i32, 0);
        self.put_url(partition, fingerprint, &url);
    }

    fn remove_schedule(
        &mut self,
        id: u64,
        slice: &Remove,
        cursor: &[u8],
        quota: &mut Quota,
    ) -> Result<Option<Vec<u8>>, MachineError> {
        let host = self.m.hosts.host(id)?;
        if host.scheduled == 0 {
            return Ok(None);
        }
        let (partition, name) = (host.partition, host.name.clone());
        let (from, to) = schedule::of_host(partition, &name);
        let from = if cursor > from.as_slice() && cursor < to.as_slice() {
            cursor.to_vec()
        } else {
            from
        };
        let rows = self.overlay.scan(self.rows, &from, &to, quota.looks)?;
        let mut more = rows.len() == quota.looks;
        let (mut removed, mut next) = (0, from);
        for (key, value) in rows {
            if quota.removals == 0 {
                more = true;
                break;
            }
            quota.looks -= 1;
            next = [key.as_slice(), &[0]].concat();
            let row: ScheduleRow = keys::decode(schedule::SPACE, &value)?;
            if row.crawl != slice.crawl {
                continue;
            }
            let (_, fingerprint) = schedule::parse(&name, &key)?;
            self.overlay.delete(key);
            self.remove_scheduled(partition, fingerprint, slice.forget)?;
            quota.removals -= 1;
            removed += 1;
        }
        if removed > 0 {
            self.unschedule(id, removed)?;
        }
        Ok(more.then_some(next))
    }

    pub(super) fn remove_scheduled(
        &mut self,
        partition: u64,
        fingerprint: u64,
        forget: bool,
    ) -> Result<(), MachineError> {
        self.m.meta.removed += 1;
        if forget {
            self.forget_url(partition, fingerprint);
        } else {
            let url = self.tried_url(partition, fingerprint)?;
            self.put_removed(partition, fingerprint, url);
        }
        Ok(())
    }
}
