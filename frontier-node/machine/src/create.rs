//! Where machines come from: a new shard, or rows.

use crate::{
    command::restore::Stage,
    error::MachineError,
    keys::{
        self, crawl::CrawlRow, host::HostRow, lease::LeaseRow, meta::MetaRow, session::SessionRow,
    },
    machine::Machine,
    overlay::Overlay,
    rows::Rows,
    shard_id::ShardId,
    state::{Crawl, Host, Hosts, Index, LeaseEntry, Leases, OutboxSites, Policy, Sessions},
};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// Rows read at once.
const CHUNK: usize = 1_024;

impl Machine {
    /// A new shard that holds the partition hashes `first..=last`; its first row goes to the overlay.
    pub fn create(shard: ShardId, first: u64, last: u64, overlay: &mut Overlay) -> Self {
        let meta = MetaRow {
            first,
            last,
            ..MetaRow::default()
        };
        overlay.put(keys::meta::key(shard), meta.encode_to_vec());
        Self::empty(shard, meta)
    }

    /// The machine of a shard as its rows say, or `None` when there is no such shard. Reads host, lease, session, crawl
    /// and outbox rows, never queues, schedules, `seen` or URL records.
    pub fn rebuild(rows: &dyn Rows, shard: ShardId) -> Result<Option<Self>, MachineError> {
        let Some(meta) = rows.get(&keys::meta::key(shard))? else {
            return Ok(None);
        };
        let mut machine = Self::empty(shard, keys::decode::<MetaRow>(keys::meta::SPACE, &meta)?);
        if machine.restoring() == Some(Stage::Filling) {
            // Nothing is in memory before all rows are there.
            return Ok(Some(machine));
        }
        machine.read_crawls(rows)?;
        machine.read_hosts(rows)?;
        machine.raise_contacts();
        machine.read_leases(rows)?;
        machine.read_sessions(rows)?;
        machine.read_outbox(rows)?;
        machine.index = Index::of(&mut machine.hosts);
        Ok(Some(machine))
    }

    /// The range that a shard's rows say it has, inclusive, without building the machine; `None` when there is no such shard.
    /// With [`crate::key_ranges`] it tells which rows are the shard's, also while another shard lives beside it.
    pub fn stored_range(
        rows: &dyn Rows,
        shard: ShardId,
    ) -> Result<Option<(u64, u64)>, MachineError> {
        Ok(stored_meta(rows, shard)?.map(|meta| (meta.first, meta.last)))
    }

    /// Whether a shard's rows remember a split that seeded this child.
    pub fn stored_split(
        rows: &dyn Rows,
        shard: ShardId,
        child: ShardId,
    ) -> Result<bool, MachineError> {
        let meta = stored_meta(rows, shard)?.unwrap_or_default();
        Ok(meta.splits.iter().any(|split| split.child == child.0))
    }

    pub(crate) fn empty(shard: ShardId, meta: MetaRow) -> Self {
        Self {
            shard,
            meta,
            crawls: BTreeMap::new(),
            hosts: Hosts::default(),
            index: Index::default(),
            leases: Leases::default(),
            sessions: Sessions::default(),
            outbox: OutboxSites::default(),
            changed: BTreeSet::new(),
            children: Vec::new(),
        }
    }

    fn read_crawls(&mut self, rows: &dyn Rows) -> Result<(), MachineError> {
        let range = keys::partitions(keys::crawl::TAG, self.shard.0, self.shard.0);
        each(rows, range, |_, value| {
            let row: CrawlRow = keys::decode(keys::crawl::SPACE, value)?;
            let given = row
                .policy
                .ok_or_else(|| MachineError::corrupt(keys::crawl::SPACE, "no policy"))?;
            self.crawls.insert(
                given.crawl,
                Crawl {
                    policy: Policy::of(&given),
                    given,
                    removed: row.removed,
                    forget: row.forget,
                },
            );
            Ok(())
        })
    }

    fn read_hosts(&mut self, rows: &dyn Rows) -> Result<(), MachineError> {
        let range = keys::partitions(keys::host::TAG, self.meta.first, self.meta.last);
        let corrupt = |what: &str| MachineError::corrupt(keys::host::SPACE, what);
        let mut hosts = Vec::new();
        each(rows, range, |key, value| {
            let partition = key
                .get(1..9)
                .and_then(|bytes| bytes.try_into().ok())
                .map(u64::from_be_bytes);
            let name = key
                .get(9..)
                .and_then(|bytes| std::str::from_utf8(bytes).ok());
            let (Some(partition), Some(name)) = (partition, name) else {
                return Err(corrupt("key"));
            };
            let row: HostRow = keys::decode(keys::host::SPACE, value)?;
            let id = row.id;
            hosts.push((id, Box::new(Host::from_row(partition, name, row)?)));
            Ok(())
        })?;
        self.hosts = Hosts::of(hosts).ok_or_else(|| corrupt("id of two hosts"))?;
        Ok(())
    }

    fn read_leases(&mut self, rows: &dyn Rows) -> Result<(), MachineError> {
        let range = keys::partitions(keys::lease::TAG, self.meta.first, self.meta.last);
        each(rows, range, |_, value| {
            let row: LeaseRow = keys::decode(keys::lease::SPACE, value)?;
            let key = row
                .key
                .ok_or_else(|| MachineError::corrupt(keys::lease::SPACE, "no key"))?;
            let id = self
                .hosts
                .find(key.partition, &row.host)
                .ok_or(MachineError::Invariant(
                    "a lease of a host that is not there",
                ))?;
            self.hosts.host_mut(id)?.in_flight = true;
            self.leases.insert(
                key,
                LeaseEntry {
                    token: row.token,
                    deadline_ms: row.deadline_ms,
                    host: id,
                },
            );
            Ok(())
        })
    }

    fn read_sessions(&mut self, rows: &dyn Rows) -> Result<(), MachineError> {
        let range = keys::partitions(keys::session::TAG, self.shard.0, self.shard.0);
        each(rows, range, |key, value| {
            let id = key
                .get(9..)
                .and_then(|bytes| bytes.try_into().ok())
                .ok_or_else(|| MachineError::corrupt(keys::session::SPACE, "key"))?;
            let row: SessionRow = keys::decode(keys::session::SPACE, value)?;
            self.sessions.put(id, row.number, row.expires_ms);
            Ok(())
        })
    }

    fn read_outbox(&mut self, rows: &dyn Rows) -> Result<(), MachineError> {
        let range = keys::partitions(keys::outbox::TAG, self.meta.first, self.meta.last);
        each(rows, range, |key, _| {
            let partition = keys::outbox::partition(key)
                .ok_or_else(|| MachineError::corrupt(keys::outbox::SPACE, "key"))?;
            self.outbox.put(partition, 1);
            Ok(())
        })
    }
}

fn stored_meta(rows: &dyn Rows, shard: ShardId) -> Result<Option<MetaRow>, MachineError> {
    let row = rows.get(&keys::meta::key(shard))?;
    row.map(|row| keys::decode(keys::meta::SPACE, &row))
        .transpose()
}

/// Calls `act` for each row of a range, reading a chunk at a time.
fn each(
    rows: &dyn Rows,
    range: (Vec<u8>, Vec<u8>),
    mut act: impl FnMut(&[u8], &[u8]) -> Result<(), MachineError>,
) -> Result<(), MachineError> {
    let (mut from, to) = range;
    loop {
        let chunk = rows.scan(&from, &to, CHUNK)?;
        for (key, value) in &chunk {
            act(key, value)?;
        }
        match chunk.last() {
            Some((key, _)) if chunk.len() == CHUNK => {
                from.clone_from(key);
                from.push(0);
            }
            _ => return Ok(()),
        }
    }
}
