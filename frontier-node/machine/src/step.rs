//! What every command works with: the machine, the rows, the overlay and the entry's stamps, and the moves they share.

use crate::{
    authority::Authority,
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        queue::{Place, QueueRow},
        url::UrlRow,
    },
    limits,
    machine::Machine,
    overlay::Overlay,
    rows::Rows,
    state::{
        Crawl, Host, HostAuthority, Lane, Robots,
        host::{CLASS_SIZE, Rest},
    },
};
use prost::Message;
use std::collections::BTreeMap;

/// One entry being applied.
pub(crate) struct Step<'a> {
    pub m: &'a mut Machine,
    pub rows: &'a dyn Rows,
    pub overlay: &'a mut Overlay,
    /// Shard time.
    pub now_ms: u64,
    /// Unix ms.
    pub wall_ms: u64,
}

/// A URL on its way into a host's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub crawl: u32,
    pub slot: u8,
    pub priority: u8,
    pub due_ms: u64,
    pub fingerprint: u64,
}

impl Machine {
    pub(crate) fn link(&mut self, id: u64) {
        if let Some(host) = self.hosts.get_mut(id) {
            self.index.link(id, host);
        }
    }

    /// Marks a host's row to be written at the end of the entry.
    pub(crate) fn touch(&mut self, id: u64) {
        if let Some(host) = self.hosts.get_mut(id).filter(|host| !host.changed) {
            host.changed = true;
            self.changed.insert(id);
        }
    }

    /// Changes a host, keeps the ordered sets right and has its row written.
    pub(crate) fn change<T>(
        &mut self,
        id: u64,
        act: impl FnOnce(&mut Host, &BTreeMap<u32, Crawl>) -> T,
    ) -> Result<T, MachineError> {
        let host = self.hosts.host_mut(id)?;
        self.index.unlink(id, host);
        let result = act(host, &self.crawls);
        if host.rest.as_deref() == Some(&Rest::default()) {
            host.rest = None;
        }
        self.index.link(id, host);
        self.touch(id);
        Ok(result)
    }

    pub(crate) fn url_row(
        &self,
        rows: &dyn Rows,
        overlay: &Overlay,
        partition: u64,
        fingerprint: u64,
    ) -> Result<Option<UrlRow>, MachineError> {
        let value = overlay.get(rows, &keys::url::key(partition, fingerprint))?;
        value
            .map(|value| keys::decode(keys::url::SPACE, &value))
            .transpose()
    }
}

impl Step<'_> {
    /// Reads and decodes a row.
    pub fn read<M: Message + Default>(
        &self,
        space: &'static str,
        key: &[u8],
    ) -> Result<Option<M>, MachineError> {
        self.overlay
            .get(self.rows, key)?
            .map(|value| keys::decode(space, &value))
            .transpose()
    }

    pub fn url_row(
        &self,
        partition: u64,
        fingerprint: u64,
    ) -> Result<Option<UrlRow>, MachineError> {
        self.m
            .url_row(self.rows, self.overlay, partition, fingerprint)
    }

    /// The record of a URL that was tried.
    pub fn tried_url(&self, partition: u64, fingerprint: u64) -> Result<UrlRow, MachineError> {
        self.url_row(partition, fingerprint)?
            .ok_or(MachineError::Invariant(
                "a URL that was tried has no record",
            ))
    }

    pub fn put_url(&mut self, partition: u64, fingerprint: u64, row: &UrlRow) {
        self.overlay
            .put(keys::url::key(partition, fingerprint), row.encode_to_vec());
    }

    /// Forgets that a URL was ever seen.
    pub fn forget_url(&mut self, partition: u64, fingerprint: u64) {
        self.overlay.delete(keys::url::key(partition, fingerprint));
        self.overlay.delete(keys::seen::key(partition, fingerprint));
    }

    /// A new host; `None` when its name's hash is crowded, which only a hostile site brings about.
    pub fn new_host(&mut self, partition: u64, name: &str) -> Option<u64> {
        let id = self.m.hosts.free_id(partition, name)?;
        let mut host = Host::new(partition, name);
        if let Some(recovery) = &self.m.meta.recovery {
            host.raise_contact(recovery.until_ms);
        }
        self.m.hosts.insert(id, host);
        self.m.link(id);
        self.m.touch(id);
        self.m.count(Counter::HostsCreated);
        Some(id)
    }

    /// The position of an authority of a host, entered when there is room.
    pub fn slot(&mut self, id: u64, authority: Authority) -> Result<Option<u8>, MachineError> {
        let host = self.m.hosts.host_mut(id)?;
        if let Some(slot) = host.slot(authority) {
            return Ok(Some(slot));
        }
        if host.authorities.len() >= limits::LANES_PER_HOST {
            return Ok(None);
        }
        host.authorities.reserve_exact(1);
        host.authorities.push(HostAuthority {
            authority,
            robots: Robots::default(),
        });
        let slot = host.slot(authority);
        self.m.touch(id);
        Ok(slot)
    }

    /// Puts a URL into its host's queue.
    pub fn enqueue(&mut self, id: u64, queued: Queued, row: &QueueRow) -> Result<(), MachineError> {
        let now_ms = self.now_ms;
        let host = self.m.hosts.host_mut(id)?;
        let authority = authority_of(host, queued.slot)?;
        let place = Place {
            crawl: queued.crawl,
            authority,
            priority: queued.priority,
            due_ms: queued.due_ms,
            fingerprint: queued.fingerprint,
        };
        self.overlay.put(
            keys::queue::key(host.partition, &host.name, place),
            row.encode_to_vec(),
        );
        let lane = host
            .lanes
            .iter_mut()
            .find(|lane| lane.crawl == queued.crawl && lane.slot == queued.slot);
        match lane {
            // The place in the ordered sets follows from class and robots only: most links leave it alone.
            Some(lane)
                if queued.priority / CLASS_SIZE >= lane.priority / CLASS_SIZE
                    && host.robots_waiting == 0 =>
            {
                grow(lane, queued)
            }
            _ => {
                self.m.index.unlink(id, host);
                grow_host(host, queued, now_ms);
                self.m.index.link(id, host);
            }
        }
        let partition = host.partition;
        self.m.hosts.count_queued(partition);
        self.m.meta.queued += 1;
        self.m.touch(id);
        Ok(())
    }

    /// Takes the head of a lane out of the queue: one scan finds it and the next head.
    pub fn take_head(
        &mut self,
        id: u64,
        crawl: u32,
        slot: u8,
    ) -> Result<(Place, QueueRow), MachineError> {
        let host = self.m.hosts.host_mut(id)?;
        let authority = authority_of(host, slot)?;
        let position = host
            .lanes
            .iter()
            .position(|lane| lane.crawl == crawl && lane.slot == slot);
        let lane = *position
            .and_then(|position| host.lanes.get(position))
            .ok_or(MachineError::Invariant("a lane is not there"))?;
        let head = Place {
            crawl,
            authority,
            priority: lane.priority,
            due_ms: lane.due_ms,
            fingerprint: lane.fingerprint,
        };
        let from = keys::queue::key(host.partition, &host.name, head);
        let (_, to) = keys::queue::lanes(host.partition, &host.name, Some(crawl), Some(authority));
        let mut found = self.overlay.scan(self.rows, &from, &to, 2)?.into_iter();
        let value = found
            .next()
            .filter(|(key, _)| *key == from)
            .map(|(_, value)| value);
        let value = value.ok_or(MachineError::Invariant("a lane's head is not in its queue"))?;
        let next = found
            .next()
            .map(|(key, _)| keys::queue::parse(host.partition, &host.name, &key))
            .transpose()?;
        let row = keys::decode(keys::queue::SPACE, &value)?;
        self.overlay.delete(from);
        self.m.index.unlink(id, host);
        let shrunk = shrink(host, crawl, slot, 1, next);
        self.m.index.link(id, host);
        let partition = host.partition;
        self.count_dequeued(partition, 1);
        self.m.touch(id);
        shrunk.map(|()| (head, row))
    }

    /// Counts URLs out of the queues.
    pub fn count_dequeued(&mut self, partition: u64, count: u32) {
        self.m.hosts.count_dequeued(partition, count);
        self.m.meta.queued -= u64::from(count);
    }
}

pub(crate) fn authority_of(host: &Host, slot: u8) -> Result<Authority, MachineError> {
    host.authorities
        .get(usize::from(slot))
        .map(|known| known.authority)
        .ok_or(MachineError::Invariant("an authority is not there"))
}

fn grow(lane: &mut Lane, queued: Queued) {
    lane.count = lane.count.saturating_add(1);
    let head = (queued.priority, queued.due_ms, queued.fingerprint);
    if head < lane.head() {
        (lane.priority, lane.due_ms, lane.fingerprint) = head;
    }
}

fn grow_host(host: &mut Host, queued: Queued, now_ms: u64) {
    if !host.has_work() {
        host.since_ms = now_ms;
    }
    if let Some(lane) = host
        .lanes
        .iter_mut()
        .find(|lane| lane.crawl == queued.crawl && lane.slot == queued.slot)
    {
        return grow(lane, queued);
    }
    let position = host
        .lanes
        .partition_point(|lane| (lane.crawl, lane.slot) < (queued.crawl, queued.slot));
    host.lanes.reserve_exact(1);
    let Queued {
        crawl,
        slot,
        priority,
        due_ms,
        fingerprint,
    } = queued;
    host.lanes.insert(
        position,
        Lane {
            crawl,
            slot,
            priority,
            count: 1,
            due_ms,
            fingerprint,
        },
    );
}

/// Takes URLs out of a lane, whose next head is given; a lane without URLs goes. The host must be unlinked.
pub(crate) fn shrink(
    host: &mut Host,
    crawl: u32,
    slot: u8,
    count: u32,
    next: Option<Place>,
) -> Result<(), MachineError> {
    let broken = MachineError::Invariant("a lane's count is not that of its queue");
    let Some(position) = host
        .lanes
        .iter()
        .position(|lane| lane.crawl == crawl && lane.slot == slot)
    else {
        return Err(broken);
    };
    let Some(lane) = host.lanes.get_mut(position) else {
        return Err(broken);
    };
    lane.count = lane
        .count
        .checked_sub(count)
        .ok_or(MachineError::Invariant("a lane's count is below zero"))?;
    match next {
        Some(place) if lane.count > 0 => {
            (lane.priority, lane.due_ms, lane.fingerprint) =
                (place.priority, place.due_ms, place.fingerprint);
            Ok(())
        }
        None if lane.count == 0 => {
            host.lanes.remove(position);
            Ok(())
        }
        _ => Err(broken),
    }
}
