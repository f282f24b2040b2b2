//! All rows of one shard, decoded: what the invariants judge.

use crate::{
    authority::Authority,
    command::discover::Item,
    error::MachineError,
    keys::{
        self, crawl, errand, host, lease, meta, outbox, queue, robots, robots_body,
        robots_reference, schedule, seen, session, url,
    },
    rows::Rows,
    shard_id::ShardId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Partition hash and host name.
pub(crate) type HostKey = (u64, String);
/// Partition hash and fingerprint.
pub(crate) type UrlKey = (u64, u64);

/// Rows that one scan of the store takes at a time.
const SCAN_ROWS: usize = 4_096;

/// All rows of one shard at one applied index, decoded.
#[derive(Debug)]
pub struct View {
    pub(crate) shard: ShardId,
    pub(crate) meta: meta::MetaRow,
    pub(crate) crawls: BTreeMap<u32, crawl::CrawlRow>,
    pub(crate) hosts: BTreeMap<HostKey, host::HostRow>,
    /// In key order.
    pub(crate) queue: Vec<Queued>,
    /// In key order.
    pub(crate) schedule: Vec<Visit>,
    pub(crate) leases: BTreeMap<(u64, i32, u64), lease::LeaseRow>,
    pub(crate) sessions: BTreeMap<Vec<u8>, session::SessionRow>,
    pub(crate) seen: BTreeSet<UrlKey>,
    pub(crate) urls: BTreeMap<UrlKey, url::UrlRow>,
    pub(crate) errands: BTreeMap<(HostKey, u64), errand::ErrandRow>,
    pub(crate) robots: BTreeMap<(HostKey, Authority), robots::RobotsRow>,
    /// Partition and digest, with the body's size in bytes.
    pub(crate) bodies: BTreeMap<(u64, Vec<u8>), usize>,
    /// Partition, digest, robots id.
    pub(crate) references: BTreeSet<(u64, Vec<u8>, u64)>,
    /// Partition and sequence.
    pub(crate) outbox: BTreeMap<(u64, u64), Item>,
}

/// A queue row.
#[derive(Debug)]
pub(crate) struct Queued {
    pub host: HostKey,
    pub place: queue::Place,
    pub row: queue::QueueRow,
}

/// A schedule row.
#[derive(Debug)]
pub(crate) struct Visit {
    pub host: HostKey,
    pub due_unix_ms: u64,
    pub fingerprint: u64,
}

impl View {
    /// Reads and decodes every row of the shard, and rows of every partition, for the store should hold no other shard.
    pub fn read(rows: &dyn Rows, shard: ShardId) -> Result<Self, MachineError> {
        Self::read_range(rows, shard, |_| (0, u64::MAX))
    }

    /// Reads and decodes the rows of the shard in a store that holds others beside it. Whether rows lie outside
    /// of every shard's range (I16) is not to be seen here.
    pub fn read_own(rows: &dyn Rows, shard: ShardId) -> Result<Self, MachineError> {
        Self::read_range(rows, shard, |meta| (meta.first, meta.last))
    }

    fn read_range(
        rows: &dyn Rows,
        shard: ShardId,
        range: fn(&meta::MetaRow) -> (u64, u64),
    ) -> Result<Self, MachineError> {
        let meta = match rows.get(&meta::key(shard))? {
            Some(value) => keys::decode(meta::SPACE, &value)?,
            None => return Err(MachineError::corrupt(meta::SPACE, "no row")),
        };
        let (first, last) = range(&meta);
        let mut view = Self {
            shard,
            meta,
            crawls: BTreeMap::new(),
            hosts: BTreeMap::new(),
            queue: Vec::new(),
            schedule: Vec::new(),
            leases: BTreeMap::new(),
            sessions: BTreeMap::new(),
            seen: BTreeSet::new(),
            urls: BTreeMap::new(),
            errands: BTreeMap::new(),
            robots: BTreeMap::new(),
            bodies: BTreeMap::new(),
            references: BTreeSet::new(),
            outbox: BTreeMap::new(),
        };
        for (from, to) in keys::key_ranges(shard, first, last) {
            let mut start = from;
            loop {
                let found = rows.scan(&start, &to, SCAN_ROWS)?;
                let Some((last, _)) = found.last() else { break };
                start.clone_from(last);
                start.push(0);
                for (key, value) in found {
                    view.take(&key, &value)?;
                }
            }
        }
        view.raise_contacts();
        Ok(view)
    }

    /// A recovery holds of hosts whose rows were not written since.
    fn raise_contacts(&mut self) {
        if let Some(recovery) = self.meta.recovery {
            for host in self.hosts.values_mut() {
                host.last_contact_ms = host.last_contact_ms.max(Some(recovery.until_ms));
            }
        }
    }

    /// Shard time.
    pub fn now_ms(&self) -> u64 {
        self.meta.now_ms
    }

    /// Whether a split lies between the two: a shard's range became smaller, or the later one is a child.
    pub(crate) fn is_split_by(&self, after: &Self) -> bool {
        self.shard != after.shard || self.meta.last != after.meta.last
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), MachineError> {
        let partition = number_at("row", key, 1)?;
        match key.first().copied().unwrap_or_default() {
            crawl::TAG => {
                let number = key
                    .get(9..13)
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(u32::from_be_bytes);
                let number =
                    number.ok_or_else(|| MachineError::corrupt(crawl::SPACE, "key too short"))?;
                self.crawls
                    .insert(number, keys::decode(crawl::SPACE, value)?);
            }
            host::TAG => {
                self.hosts.insert(
                    (partition, text(host::SPACE, &key[9..])?),
                    keys::decode(host::SPACE, value)?,
                );
            }
            queue::TAG => {
                let (host, _) = hosted(queue::SPACE, key)?;
                let place = queue::parse(partition, &host, key)?;
                self.queue.push(Queued {
                    host: (partition, host),
                    place,
                    row: keys::decode(queue::SPACE, value)?,
                });
            }
            schedule::TAG => {
                let (host, _) = hosted(schedule::SPACE, key)?;
                let (due_unix_ms, fingerprint) = schedule::parse(&host, key)?;
                let _: schedule::ScheduleRow = keys::decode(schedule::SPACE, value)?;
                self.schedule.push(Visit {
                    host: (partition, host),
                    due_unix_ms,
                    fingerprint,
                });
            }
            lease::TAG => {
                let kind = i32::from(key.get(9).copied().unwrap_or_default());
                let fingerprint = number_at(lease::SPACE, key, 10)?;
                self.leases.insert(
                    (partition, kind, fingerprint),
                    keys::decode(lease::SPACE, value)?,
                );
            }
            session::TAG => {
                self.sessions
                    .insert(key[9..].to_vec(), keys::decode(session::SPACE, value)?);
            }
            seen::TAG => {
                self.seen.insert((partition, number_at("seen", key, 9)?));
            }
            url::TAG => {
                self.urls.insert(
                    (partition, number_at(url::SPACE, key, 9)?),
                    keys::decode(url::SPACE, value)?,
                );
            }
            outbox::TAG => {
                self.outbox.insert(
                    (partition, number_at(outbox::SPACE, key, 9)?),
                    keys::decode(outbox::SPACE, value)?,
                );
            }
            _ => self.take_robots(partition, key, value)?,
        }
        Ok(())
    }

    fn take_robots(
        &mut self,
        partition: u64,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), MachineError> {
        match key.first().copied().unwrap_or_default() {
            errand::TAG => {
                let (host, rest) = hosted(errand::SPACE, key)?;
                let fingerprint = number_at(errand::SPACE, rest, 0)?;
                self.errands.insert(
                    ((partition, host), fingerprint),
                    keys::decode(errand::SPACE, value)?,
                );
            }
            robots::TAG => {
                let (host, rest) = hosted(robots::SPACE, key)?;
                let &[https, high, low] = rest else {
                    return Err(MachineError::corrupt(
                        robots::SPACE,
                        "key of another length",
                    ));
                };
                let authority = Authority {
                    https: https != 0,
                    port: u16::from_be_bytes([high, low]),
                };
                self.robots.insert(
                    ((partition, host), authority),
                    keys::decode(robots::SPACE, value)?,
                );
            }
            robots_body::TAG => {
                self.bodies
                    .insert((partition, key[9..].to_vec()), value.len());
            }
            robots_reference::TAG => {
                let digest = key
                    .get(9..41)
                    .ok_or_else(|| MachineError::corrupt("robots_reference", "key too short"))?;
                self.references.insert((
                    partition,
                    digest.to_vec(),
                    number_at("robots_reference", key, 41)?,
                ));
            }
            // The shard's one meta row is read first.
            _ => {}
        }
        Ok(())
    }
}

/// The big-endian number at a place of a key.
fn number_at(space: &'static str, key: &[u8], at: usize) -> Result<u64, MachineError> {
    let bytes = key.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(u64::from_be_bytes)
        .ok_or_else(|| MachineError::corrupt(space, "key too short"))
}

/// Host name and the rest of the key of a space below a host.
fn hosted<'a>(space: &'static str, key: &'a [u8]) -> Result<(String, &'a [u8]), MachineError> {
    let after = key.get(9..).unwrap_or_default();
    let end = after
        .iter()
        .position(|byte| *byte == 0)
        .ok_or_else(|| MachineError::corrupt(space, "no host in the key"))?;
    Ok((text(space, &after[..end])?, &after[end + 1..]))
}

fn text(space: &'static str, bytes: &[u8]) -> Result<String, MachineError> {
    String::from_utf8(bytes.to_vec()).map_err(|error| MachineError::corrupt(space, error))
}
