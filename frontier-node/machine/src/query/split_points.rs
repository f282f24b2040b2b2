//! Where to split: for whoever plans splits, by what is in memory. Cost follows sites and leases of the shard, so these are for
//! operators and jobs, not for every entry.
//!
//! A partition hash is a site's, so every point lies between sites: no split cuts one in two.

use crate::{machine::Machine, state::hosts::Site};

/// What a part of the range has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// URLs in queues.
    pub queued: u64,
    /// Leases out, of any kind.
    pub leased: u64,
    /// Hosts in memory.
    pub hosts: u64,
}

impl Load {
    /// The measure that a middle is sought by: queued URLs and leases; among equals, hosts.
    pub const fn measure(self) -> u64 {
        self.queued + self.leased
    }

    fn plus(self, other: Self) -> Self {
        Self {
            queued: self.queued + other.queued,
            leased: self.leased + other.leased,
            hosts: self.hosts + other.hosts,
        }
    }

    fn minus(self, part: Self) -> Self {
        Self {
            queued: self.queued - part.queued,
            leased: self.leased - part.leased,
            hosts: self.hosts - part.hosts,
        }
    }

    fn distance(self, other: Self) -> (u64, u64) {
        (
            self.measure().abs_diff(other.measure()),
            self.hosts.abs_diff(other.hosts),
        )
    }
}

/// A point with what would lie on either side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPoint {
    /// First partition hash of the child.
    pub at: u64,
    /// What the parent keeps.
    pub parent: Load,
    /// What the child gets.
    pub child: Load,
}

impl Machine {
    /// The point between two sites at which the measure is most even, which need not be even: one site may have most of it
    /// ([`Machine::points_around`]). `None` with fewer than two sites.
    pub fn middle_of_load(&self) -> Option<SplitPoint> {
        let sites = self.site_loads();
        let total = sites
            .iter()
            .fold(Load::default(), |sum, (_, load)| sum.plus(*load));
        let mut below = Load::default();
        let points = sites.into_iter().map(|(at, load)| {
            let point = SplitPoint {
                at,
                parent: below,
                child: total.minus(below),
            };
            below = below.plus(load);
            point
        });
        // Below the first site there is nothing.
        let points = points.skip(1);
        points.min_by_key(|point| (point.parent.distance(point.child), point.at))
    }

    /// The site with the largest measure and its load; the lowest hash among equals.
    pub fn heaviest_site(&self) -> Option<(u64, Load)> {
        self.site_loads()
            .into_iter()
            .max_by_key(|(site, load)| (load.measure(), load.hosts, u64::MAX - site))
    }

    /// The points that leave a site alone in its shard, in the order in which this shard is to be split at them: from the upper
    /// end of the site on (its hash + 1), then at its hash, whose child is then the site's shard. A point beyond which no site is
    /// known is left out, for it would make an empty shard; so there is one for the first or last site, and none for the
    /// only one or for one that is not known.
    pub fn points_around(&self, site: u64) -> Vec<u64> {
        let sites: Vec<u64> = self.hosts.sites().map(|(other, _)| other).collect();
        let Ok(place) = sites.binary_search(&site) else {
            return Vec::new();
        };
        let above = sites.get(place + 1).map(|_| site + 1);
        let below = (place > 0).then_some(site);
        above.into_iter().chain(below).collect()
    }

    /// In the order of hashes.
    fn site_loads(&self) -> Vec<(u64, Load)> {
        let load = |(partition, site): (u64, Site)| {
            let load = Load {
                queued: u64::from(site.queued),
                leased: 0,
                hosts: u64::from(site.hosts),
            };
            (partition, load)
        };
        let mut loads: Vec<_> = self.hosts.sites().map(load).collect();
        for key in self.leases.keys() {
            if let Ok(place) = loads.binary_search_by_key(&key.partition, |(site, _)| *site)
                && let Some((_, load)) = loads.get_mut(place)
            {
                load.leased += 1;
            }
        }
        loads
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
