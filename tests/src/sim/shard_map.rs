//! The shard map as somebody outside the nodes knows it.

use std::collections::BTreeMap;
use std::fmt;

use proto::frontier_v1 as pb;

/// A shard's range of the partition hash, both ends inclusive, and how often its shape changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) epoch: u64,
}

impl Place {
    pub(super) fn holds(self, hash: u64) -> bool {
        (self.first..=self.last).contains(&hash)
    }
}

/// Shards by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShardMap(BTreeMap<u64, Place>);

impl ShardMap {
    /// The shards that a cluster begins with.
    pub(super) fn founding(shards: u64) -> Self {
        let place = |range: frontier_node::ShardRange| Place {
            first: range.first,
            last: range.last,
            epoch: 0,
        };
        let ranges = frontier_node::equal_ranges(shards).into_iter();
        Self(ranges.map(|range| (range.shard, place(range))).collect())
    }

    /// As group 0 knows it.
    pub(super) fn of_zero(map: &shard_map::ShardMap) -> Self {
        let place = |shard: &shard_map::Shard| Place {
            first: shard.first,
            last: shard.last,
            epoch: shard.members.epoch,
        };
        Self(map.shards.iter().map(|s| (s.id, place(s))).collect())
    }

    /// As a node tells it.
    pub(super) fn of(told: &pb::ShardMapResponse) -> Self {
        let place = |entry: &pb::ShardEntry| Place {
            first: entry.first,
            last: entry.last,
            epoch: entry.epoch,
        };
        Self(told.shards.iter().map(|e| (e.shard, place(e))).collect())
    }

    /// Takes over what is newer; whether anything was.
    pub(super) fn learn(&mut self, told: &Self) -> bool {
        let mut is_changed = false;
        for (shard, place) in &told.0 {
            let known = self.0.get(shard);
            if known.is_none_or(|known| known.epoch < place.epoch) {
                self.0.insert(*shard, *place);
                is_changed = true;
            }
        }
        is_changed
    }

    /// As nodes count it: rises with each change of a shape.
    pub(super) fn version(&self) -> u64 {
        1 + self.0.values().map(|place| place.epoch).sum::<u64>()
    }

    /// Their numbers.
    pub(super) fn shards(&self) -> Vec<u64> {
        self.0.keys().copied().collect()
    }

    pub(super) fn place(&self, shard: u64) -> Place {
        self.0[&shard]
    }

    /// The shard that owns a hash.
    pub(super) fn owner(&self, hash: u64) -> u64 {
        let owners = self.0.iter().filter(|(_, place)| place.holds(hash));
        let newest = owners.max_by_key(|(_, place)| place.epoch);
        *newest.unwrap().0
    }

    /// Cuts a shard in two.
    pub(super) fn split(&mut self, parent: u64, child: u64, at: u64) {
        let epoch = self.0[&parent].epoch + 1;
        let old = self.0[&parent];
        let (first, last) = (at, old.last);
        self.0.insert(child, Place { first, last, epoch });
        let lower = Place {
            first: old.first,
            last: at - 1,
            epoch,
        };
        self.0.insert(parent, lower);
    }

    /// Whether every hash has exactly one owner.
    pub(super) fn is_whole(&self) -> bool {
        let mut places: Vec<Place> = self.0.values().copied().collect();
        places.sort_by_key(|place| place.first);
        let ends = places.first().map(|place| place.first) == Some(0)
            && places.last().map(|place| place.last) == Some(u64::MAX);
        let joints = places.windows(2);
        ends && joints
            .into_iter()
            .all(|pair| pair[0].last.checked_add(1) == Some(pair[1].first))
    }
}

impl fmt::Display for ShardMap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shard, Place { first, last, epoch }) in &self.0 {
            write!(out, "[{shard}: {first:016x}-{last:016x} epoch {epoch}]")?;
        }
        Ok(())
    }
}

#[test]
fn each_hash_has_one_owner() {
    let mut map = ShardMap::founding(2);
    assert!(map.is_whole() && map.version() == 1);
    map.split(2, 3, u64::MAX);
    assert!(map.is_whole() && map.version() == 3);
    assert_eq!((map.owner(u64::MAX), map.owner(u64::MAX - 1)), (3, 2));
    let mut other = ShardMap::founding(2);
    assert!(other.learn(&map) && !other.learn(&ShardMap::founding(2)) && other == map);
    map.0.remove(&3);
    assert!(!map.is_whole());
    map.0.get_mut(&2).unwrap().last = u64::MAX;
    assert!(map.is_whole());
    map.0.get_mut(&1).unwrap().last += 1;
    assert!(!map.is_whole());
}
