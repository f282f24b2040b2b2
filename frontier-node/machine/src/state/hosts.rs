//! All hosts of a shard by id, and the sums over sites that limits need.

use super::host::Host;
use crate::{error::MachineError, hash};
use std::collections::BTreeMap;

/// Host ids are a hash with its low bits free: some to step past other hosts with the same hash, the lowest six for an
/// authority's position, so that (host, authority) has an id too.
const STEP: u64 = 1 << 6;
const STEPS: u64 = 16;

/// Hosts and queued URLs of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub queued: u32,
    pub hosts: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    by_id: BTreeMap<u64, Box<Host>>,
    sites: BTreeMap<u64, Site>,
}

impl Hosts {
    /// All hosts at once, which is faster than one by one and packs the trees; `None` when two share an id.
    pub fn of(hosts: Vec<(u64, Box<Host>)>) -> Option<Self> {
        let count = hosts.len();
        // Host rows come by partition.
        let mut sites: Vec<(u64, Site)> = Vec::new();
        for (_, host) in &hosts {
            if sites
                .last()
                .is_none_or(|(partition, _)| *partition != host.partition)
            {
                sites.push((host.partition, Site::default()));
            }
            if let Some((_, site)) = sites.last_mut() {
                site.hosts = site.hosts.saturating_add(1);
                site.queued = site.queued.saturating_add(host.queued());
            }
        }
        let hosts = Self {
            by_id: BTreeMap::from_iter(hosts),
            sites: BTreeMap::from_iter(sites),
        };
        (hosts.len() == count).then_some(hosts)
    }

    /// All hosts, to be changed, in the order of ids.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Host)> {
        self.by_id.iter_mut().map(|(id, host)| (*id, &mut **host))
    }

    /// The host of that name.
    pub fn find(&self, partition: u64, name: &str) -> Option<u64> {
        let base = base(partition, name);
        let end = base + (STEPS - 1) * STEP;
        self.by_id
            .range(base..=end)
            .find(|(_, host)| host.partition == partition && &*host.name == name)
            .map(|(id, _)| *id)
    }

    /// An id for a new host of that name; `None` when too many names share its hash.
    pub fn free_id(&self, partition: u64, name: &str) -> Option<u64> {
        let base = base(partition, name);
        (0..STEPS)
            .map(|step| base + step * STEP)
            .find(|id| !self.by_id.contains_key(id))
    }

    pub fn insert(&mut self, id: u64, host: Host) {
        let site = self.sites.entry(host.partition).or_default();
        site.hosts = site.hosts.saturating_add(1);
        site.queued = site.queued.saturating_add(host.queued());
        self.by_id.insert(id, Box::new(host));
    }

    pub fn remove(&mut self, id: u64) -> Option<Box<Host>> {
        let host = self.by_id.remove(&id)?;
        if let Some(site) = self.sites.get_mut(&host.partition) {
            site.hosts -= 1;
            site.queued = site.queued.saturating_sub(host.queued());
            if site.hosts == 0 {
                self.sites.remove(&host.partition);
            }
        }
        Some(host)
    }

    /// Takes out the hosts of the sites from that hash on.
    pub fn split_off(&mut self, at: u64) -> Self {
        let all = std::mem::take(&mut self.by_id);
        let (low, high): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, host)| host.partition < at);
        self.by_id = BTreeMap::from_iter(low);
        Self {
            by_id: BTreeMap::from_iter(high),
            sites: self.sites.split_off(&at),
        }
    }

    /// Sites with hosts, in the order of their hashes.
    pub fn sites(&self) -> impl Iterator<Item = (u64, Site)> {
        self.sites
            .iter()
            .map(|(partition, site)| (*partition, *site))
    }

    pub fn get(&self, id: u64) -> Option<&Host> {
        self.by_id.get(&id).map(|host| &**host)
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut Host> {
        self.by_id.get_mut(&id).map(|host| &mut **host)
    }

    /// A host that must be there.
    pub fn host(&self, id: u64) -> Result<&Host, MachineError> {
        self.get(id)
            .ok_or(MachineError::Invariant("a host in use is not in memory"))
    }

    /// A host that must be there.
    pub fn host_mut(&mut self, id: u64) -> Result<&mut Host, MachineError> {
        self.get_mut(id)
            .ok_or(MachineError::Invariant("a host in use is not in memory"))
    }

    /// Hosts from an id on, in the order of ids.
    pub fn from(&self, id: u64) -> impl Iterator<Item = (u64, &Host)> {
        self.by_id.range(id..).map(|(id, host)| (*id, &**host))
    }

    pub fn site(&self, partition: u64) -> Site {
        self.sites.get(&partition).copied().unwrap_or_default()
    }

    /// Counts a URL into its site's queues.
    pub fn count_queued(&mut self, partition: u64) {
        if let Some(site) = self.sites.get_mut(&partition) {
            site.queued = site.queued.saturating_add(1);
        }
    }

    /// Counts URLs out of their site's queues.
    pub fn count_dequeued(&mut self, partition: u64, count: u32) {
        if let Some(site) = self.sites.get_mut(&partition) {
            site.queued = site.queued.saturating_sub(count);
        }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }
}

fn base(partition: u64, name: &str) -> u64 {
    hash::bytes(partition, name.as_bytes()) & !(STEP * STEPS - 1)
}

/// The id of a host's authority, as it stands in lease keys of robots.
pub(crate) fn robots_id(host: u64, slot: u8) -> u64 {
    host | u64::from(slot)
}

/// The host and authority of a robots id.
pub(crate) fn of_robots_id(id: u64) -> (u64, u8) {
    (id & !(STEP - 1), (id & (STEP - 1)) as u8)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_that_share_a_hash_stay_apart() {
        let mut hosts = Hosts::default();
        let base = base(1, "a");
        // Occupies a's first id with another name.
        hosts.insert(base, Host::new(1, "other"));
        assert_eq!(hosts.find(1, "a"), None);
        let id = hosts.free_id(1, "a").unwrap();
        assert_eq!(id, base + STEP);
        hosts.insert(id, Host::new(1, "a"));
        assert_eq!(hosts.find(1, "a"), Some(id));
        hosts.remove(base);
        assert_eq!(hosts.find(1, "a"), Some(id));
        assert_eq!(hosts.site(1).hosts, 1);
    }

    #[test]
    fn robots_ids_round_trip() {
        let id = base(9, "x") + 3 * STEP;
        assert_eq!(of_robots_id(robots_id(id, 63)), (id, 63));
    }
}
