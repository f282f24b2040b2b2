//! A shard map as its users read it: which shard owns a hash, where it is, and whose identity it is.
//!
//! No node knows everything first: a shard's own replicas know of its split before the map does, and copies of the map lag. So
//! answers are put together: of each shard the entry with the higher epoch stays. Ranges only shrink and splits of one shard
//! follow each other, so what comes out tiles the hash space as each answer does.

use std::collections::BTreeMap;

use proto::frontier_v1 as pb;

/// What is known of the shard map, checked and sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardTable {
    pub(crate) version: u64,
    /// By first hash; ranges do not overlap.
    by_first: BTreeMap<u64, pb::ShardEntry>,
    /// First hashes by shard.
    firsts: BTreeMap<u64, u64>,
    pub(crate) identity: pb::Identity,
    /// Addresses of the nodes that take part; empty when nobody said.
    pub(crate) nodes: Vec<String>,
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
        let table = Self::of(response.shards)?;
        Ok(Self {
            version: response.version,
            identity,
            nodes: response.node_addresses,
            ..table
        })
    }

    fn of(entries: impl IntoIterator<Item = pb::ShardEntry>) -> Result<Self, MapError> {
        let mut table = Self::default();
        for entry in entries {
            let (shard, first) = (entry.shard, entry.first);
            let is_double = table.firsts.insert(shard, first).is_some();
            let is_taken = entry.last < first || table.by_first.insert(first, entry).is_some();
            if is_double || is_taken {
                return Err(MapError::Ranges { shard });
            }
        }
        let entries = table.by_first.values();
        let mut pairs = entries.clone().zip(entries.skip(1));
        match pairs.find(|(left, right)| left.last >= right.first) {
            Some((left, _)) => Err(MapError::Ranges { shard: left.shard }),
            None => Ok(table),
        }
    }

    /// What is known with one more answer. Of equal epochs the entry of the newer version stays. An answer that does not go
    /// together with what is known is of another life of the cluster: the newer version stays as a whole.
    pub(crate) fn with(&self, told: Self) -> Self {
        let is_newer = told.version >= self.version;
        let (older, newer) = if is_newer {
            (self, &told)
        } else {
            (&told, self)
        };
        let mut entries: BTreeMap<u64, &pb::ShardEntry> = BTreeMap::new();
        for entry in older.entries().chain(newer.entries()) {
            let known = entries.entry(entry.shard).or_insert(entry);
            if entry.epoch >= known.epoch {
                *known = entry;
            }
        }
        let nodes = [newer, older].map(|table| &table.nodes);
        match Self::of(entries.into_values().cloned()) {
            Ok(table) => Self {
                version: newer.version,
                identity: newer.identity,
                nodes: nodes
                    .into_iter()
                    .find(|n| !n.is_empty())
                    .cloned()
                    .unwrap_or_default(),
                ..table
            },
            Err(_) => newer.clone(),
        }
    }

    /// The shard that owns a hash.
    pub(crate) fn owner(&self, partition: u64) -> Option<&pb::ShardEntry> {
        let (_, entry) = self.by_first.range(..=partition).next_back()?;
        (partition <= entry.last).then_some(entry)
    }

    pub(crate) fn entry(&self, shard: u64) -> Option<&pb::ShardEntry> {
        self.by_first.get(self.firsts.get(&shard)?)
    }

    /// Whether a shard has less of its range here than before.
    pub(crate) fn is_part_of(&self, shard: u64, before: &Self) -> bool {
        let range = |table: &Self| table.entry(shard).map(|entry| (entry.first, entry.last));
        let (Some(now), Some(then)) = (range(self), range(before)) else {
            return false;
        };
        now != then && then.0 <= now.0 && now.1 <= then.1
    }

    /// Where a shard is; empty when nobody said.
    pub(crate) fn replicas(&self, shard: u64) -> &[String] {
        self.entry(shard)
            .map_or(&[], |entry| entry.replica_addresses.as_slice())
    }

    /// Whether anything is said to be at this address.
    pub(crate) fn names(&self, address: &str) -> bool {
        let is_named = |named: &String| named == address;
        let has = |entry: &pb::ShardEntry| {
            entry.leader_address == address || entry.replica_addresses.iter().any(is_named)
        };
        self.nodes.iter().any(is_named) || self.entries().any(has)
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
            node_addresses: Vec::new(),
        }
    }

    fn entry(shard: u64, first: u64, last: u64, epoch: u64, at: &str) -> pb::ShardEntry {
        pb::ShardEntry {
            shard,
            first,
            last,
            epoch,
            leader_address: String::new(),
            replica_addresses: vec![at.to_owned()],
        }
    }

    fn told(version: u64, shards: Vec<pb::ShardEntry>, node: &str) -> ShardTable {
        let response = pb::ShardMapResponse {
            version,
            shards,
            node_addresses: vec![node.to_owned()],
            ..map(&[])
        };
        ShardTable::new(response).unwrap()
    }

    /// One node heard of shard 2's split, another one that shard 1 moved: both are known, whoever answered last.
    #[test]
    fn answers_are_put_together_shard_by_shard() {
        let moved = || {
            told(
                4,
                vec![entry(1, 0, 9, 2, "b"), entry(2, 10, 99, 1, "a")],
                "x",
            )
        };
        let split = || {
            let halves = [entry(2, 10, 49, 2, "a"), entry(3, 50, 99, 2, "a")];
            told(
                6,
                [vec![entry(1, 0, 9, 1, "a")], halves.to_vec()].concat(),
                "y",
            )
        };
        for both in [moved().with(split()), split().with(moved())] {
            let owner = |hash| both.owner(hash).map(|entry| entry.shard);
            assert_eq!(
                (owner(9), owner(49), owner(50)),
                (Some(1), Some(2), Some(3))
            );
            assert_eq!(
                (both.replicas(1), both.replicas(9)),
                (&["b".to_owned()][..], &[][..])
            );
            assert_eq!(
                (both.version, both.nodes.as_slice()),
                (6, &["y".to_owned()][..])
            );
            assert!(both.names("b") && both.names("y") && !both.names("x"));
        }
    }

    /// Of equal epochs the newer version's is taken: who leads may have changed. What cannot be put together is not.
    #[test]
    fn the_newer_version_decides_what_epochs_do_not() {
        let (old, new) = (
            told(3, vec![entry(1, 0, 99, 1, "a")], "x"),
            told(4, vec![entry(1, 0, 99, 1, "b")], "x"),
        );
        for both in [old.with(new.clone()), new.with(old.clone())] {
            assert_eq!(both.replicas(1), ["b"]);
        }
        let other = told(2, vec![entry(7, 50, 120, 1, "c")], "z");
        assert!(old.with(other.clone()).entry(7).is_none());
        assert!(other.with(old).entry(7).is_none());
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
