//! A shard map as its users read it: which shard owns a hash, and whose identity it is.

use std::collections::BTreeMap;

use proto::frontier_v1 as pb;

/// One version of the shard map, checked and sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardTable {
    pub(crate) version: u64,
    /// By first hash; ranges do not overlap.
    by_first: BTreeMap<u64, pb::ShardEntry>,
    pub(crate) identity: pb::Identity,
}

/// Why a shard map was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Two ranges overlap, or one is empty.
    #[error("the shard map is broken at shard {shard}")]
    Ranges {
        /// The shard whose range makes no sense.
        shard: u64,
    },
    /// It says nothing about the cluster's identity.
    #[error("the shard map has no identity")]
    NoIdentity,
}

impl ShardTable {
    pub(crate) fn new(response: pb::ShardMapResponse) -> Result<Self, MapError> {
        let identity = response.identity.ok_or(MapError::NoIdentity)?;
        let mut by_first = BTreeMap::new();
        for entry in response.shards {
            let shard = entry.shard;
            if entry.last < entry.first || by_first.insert(entry.first, entry).is_some() {
                return Err(MapError::Ranges { shard });
            }
        }
        let overlap = by_first
            .values()
            .zip(by_first.values().skip(1))
            .find(|(left, right): &(&pb::ShardEntry, &pb::ShardEntry)| left.last >= right.first);
        match overlap {
            Some((left, _)) => Err(MapError::Ranges { shard: left.shard }),
            None => Ok(Self {
                version: response.version,
                by_first,
                identity,
            }),
        }
    }

    /// The shard that owns a hash.
    pub(crate) fn owner(&self, partition: u64) -> Option<&pb::ShardEntry> {
        let (_, entry) = self.by_first.range(..=partition).next_back()?;
        (partition <= entry.last).then_some(entry)
    }

    pub(crate) fn entry(&self, shard: u64) -> Option<&pb::ShardEntry> {
        self.by_first.values().find(|entry| entry.shard == shard)
    }

    /// Whether a shard has less of its range here than before.
    pub(crate) fn is_part_of(&self, shard: u64, before: &Self) -> bool {
        let range = |table: &Self| table.entry(shard).map(|entry| (entry.first, entry.last));
        let (Some(now), Some(then)) = (range(self), range(before)) else {
            return false;
        };
        now != then && then.0 <= now.0 && now.1 <= then.1
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &pb::ShardEntry> {
        self.by_first.values()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn map(ranges: &[(u64, u64, u64)]) -> pb::ShardMapResponse {
        let shards = ranges
            .iter()
            .map(|&(shard, first, last)| pb::ShardEntry {
                shard,
                first,
                last,
                ..Default::default()
            })
            .collect();
        pb::ShardMapResponse {
            version: 1,
            shards,
            identity: Some(pb::Identity::default()),
        }
    }

    #[test]
    fn a_hash_has_its_owner_or_none() {
        let table = ShardTable::new(map(&[(2, 100, u64::MAX), (1, 0, 49)])).unwrap();
        let owner = |hash| table.owner(hash).map(|entry| entry.shard);
        assert_eq!((owner(0), owner(49), owner(50)), (Some(1), Some(1), None));
        assert_eq!(
            (owner(99), owner(100), owner(u64::MAX)),
            (None, Some(2), Some(2))
        );
        assert_eq!(table.entry(2).map(|entry| entry.first), Some(100));
    }

    #[test]
    fn a_shard_that_was_split_has_a_part_of_its_range() {
        let before = ShardTable::new(map(&[(1, 0, 99), (2, 100, u64::MAX)])).unwrap();
        let after = map(&[(1, 0, 49), (3, 50, 99), (2, 100, u64::MAX)]);
        let after = ShardTable::new(after).unwrap();
        assert!(after.is_part_of(1, &before) && !before.is_part_of(1, &after));
        assert!(!after.is_part_of(2, &before) && !after.is_part_of(3, &before));
    }

    #[test]
    fn broken_maps_are_refused() {
        assert_eq!(
            ShardTable::new(map(&[(1, 0, 50), (2, 50, 60)])).unwrap_err(),
            MapError::Ranges { shard: 1 }
        );
        assert_eq!(
            ShardTable::new(map(&[(1, 0, 50), (2, 0, 60)])).unwrap_err(),
            MapError::Ranges { shard: 2 }
        );
        assert_eq!(
            ShardTable::new(map(&[(3, 9, 8)])).unwrap_err(),
            MapError::Ranges { shard: 3 }
        );
        let no_identity = pb::ShardMapResponse {
            identity: None,
            ..map(&[])
        };
        assert_eq!(
            ShardTable::new(no_identity).unwrap_err(),
            MapError::NoIdentity
        );
    }
}
