//! All hosts of a shard or of one site, in slices.

use super::host::HostRecord;
use crate::{error::MachineError, keys, machine::Machine, rows::Rows};

/// A slice of the hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostListing {
    /// By site and name; without what is known of their authorities, for that takes a read each.
    pub hosts: Vec<HostRecord>,
    /// Continues the listing; empty at its end.
    pub cursor: Vec<u8>,
}

impl Machine {
    /// Hosts from `cursor` on (empty: from the start), at most `limit`; of one site only if its partition hash is given.
    ///
    /// # Errors
    ///
    /// Rows that cannot be read, or of hosts that are not in memory.
    pub fn list_hosts(
        &self,
        rows: &dyn Rows,
        site: Option<u64>,
        cursor: &[u8],
        limit: usize,
    ) -> Result<HostListing, MachineError> {
        let (first, last) = site.map_or(self.range(), |site| (site, site));
        let (start, end) = keys::partitions(keys::host::TAG, first, last);
        let from = if cursor > start.as_slice() {
            cursor.to_vec()
        } else {
            start
        };
        let mut listing = HostListing::default();
        // A cursor from before a split may lie in what is the child's now.
        if from >= end || !self.holds(first) {
            return Ok(listing);
        }
        let limit = limit.max(1);
        let found = rows.scan(&from, &end, limit)?;
        for (key, _) in &found {
            let (partition, name) = keys::host::parse(key)?;
            let id = self.hosts.find(partition, &name);
            let id = id.ok_or(MachineError::Invariant("a host's row is not in memory"))?;
            listing
                .hosts
                .push(self.record_of(id, self.hosts.host(id)?, self.now_ms()));
        }
        if found.len() == limit
            && let Some((key, _)) = found.last()
        {
            listing.cursor = [key.as_slice(), &[0]].concat();
        }
        Ok(listing)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::testing::*;

    #[test]
    fn all_hosts_once_in_slices_and_those_of_a_site_alone() {
        let mut shard = Shard::new();
        shard.add(&[
            "http://a.one.example/1",
            "http://a.one.example/2",
            "http://b.one.example/",
            "http://c.two.example/",
        ]);
        let (mut names, mut cursor, mut slices) = (Vec::new(), Vec::new(), 0);
        loop {
            let slice = shard.m.list_hosts(&shard.rows, None, &cursor, 2).unwrap();
            assert!(slice.hosts.len() <= 2);
            names.extend(slice.hosts.into_iter().map(|host| (host.host, host.queued)));
            slices += 1;
            cursor = slice.cursor;
            if cursor.is_empty() {
                break;
            }
        }
        names.sort();
        let expected = [
            ("a.one.example", 2),
            ("b.one.example", 1),
            ("c.two.example", 1),
        ];
        let expected: Vec<_> = expected
            .map(|(name, queued)| (name.to_owned(), queued))
            .into();
        assert_eq!((names, slices), (expected, 2));
        let site = partition("http://x.one.example/");
        let of_site = shard.m.list_hosts(&shard.rows, Some(site), &[], 9).unwrap();
        let of_site: Vec<_> = of_site.hosts.iter().map(|host| &*host.host).collect();
        assert_eq!(of_site, ["a.one.example", "b.one.example"]);
        let nobody = shard.m.list_hosts(&shard.rows, Some(7), &[], 9).unwrap();
        assert!(nobody.hosts.is_empty() && nobody.cursor.is_empty());
    }
}
