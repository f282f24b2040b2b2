//! What of the shard map is applied on this node: the range of every shard that its replicas know of, and children that are
//! known and not open yet.
//!
//! A split changes it in one step, parent and child together, after its rows are committed and before anybody is answered. So
//! no reader ever sees a hash with two owners or with none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::{Machine, ShardId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use crate::identity::ShardRange;

/// A shard's range of the partition hash, both ends inclusive, and how often its shape changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) epoch: u64,
}

impl Extent {
    /// All hashes.
    pub(crate) const WHOLE: Self = Self {
        first: 0,
        last: u64::MAX,
        epoch: 0,
    };

    pub(crate) fn of(machine: &Machine) -> Self {
        let (first, last) = machine.range();
        let epoch = machine.epoch();
        Self { first, last, epoch }
    }

    /// Whether the shard owns a partition hash.
    pub(crate) const fn holds(&self, partition: u64) -> bool {
        self.first <= partition && partition <= self.last
    }
}

impl From<&ShardRange> for Extent {
    fn from(range: &ShardRange) -> Self {
        Self {
            first: range.first,
            last: range.last,
            epoch: 0,
        }
    }
}

/// See the head of this file.
pub(crate) struct LocalMap {
    known: RwLock<BTreeMap<u64, Place>>,
    /// Machines of children that were seeded in this process.
    newborn: Mutex<BTreeMap<u64, Machine>>,
    version: AtomicU64,
    /// Tells whoever opens children that there is news.
    news: Notify,
}

/// A shard, its range, and the shard it was split from where that is known.
pub(crate) type Told = (u64, Extent, Option<u64>);

#[derive(Clone, Copy)]
struct Place {
    extent: Extent,
    parent: Option<u64>,
}

impl Default for LocalMap {
    fn default() -> Self {
        Self {
            known: RwLock::default(),
            newborn: Mutex::default(),
            version: AtomicU64::new(1),
            news: Notify::new(),
        }
    }
}

impl LocalMap {
    /// The map's version: rises with every change of any shard's shape, and is the same wherever the same changes are applied.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Waits for a change since this was last waited for. For one task.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    /// All shards that are known, with the version that they make.
    pub(crate) fn all(&self) -> (u64, Vec<(u64, Extent)>) {
        let known = self.known.read();
        let all = known.iter().map(|(shard, place)| (*shard, place.extent));
        (version_of(&known), all.collect())
    }

    /// The range of a shard.
    pub(crate) fn extent(&self, shard: u64) -> Option<Extent> {
        self.known.read().get(&shard).map(|place| place.extent)
    }

    /// The shard that a child was seen to be split from.
    pub(crate) fn parent(&self, child: u64) -> Option<u64> {
        self.known.read().get(&child).and_then(|place| place.parent)
    }

    /// A shard of the founding, whose replica here may have no rows yet.
    pub(crate) fn founded(&self, range: &ShardRange) {
        self.learn([(range.shard, Extent::from(range), None)]);
    }

    /// Entries are committed that seeded these children; the places are what their parent says of the map now.
    pub(crate) fn seeded(&self, parent: &[Told], children: Vec<Machine>) {
        let mut newborn = self.newborn.lock();
        for child in children {
            newborn.insert(child.shard().0, child);
        }
        drop(newborn);
        self.learn(parent.iter().copied());
    }

    /// The machine of a child that was seeded in this process, once.
    pub(crate) fn take_newborn(&self, shard: u64) -> Option<Machine> {
        self.newborn.lock().remove(&shard)
    }

    /// Takes what a machine that was made of rows says of the map. Of what is known and what is told the higher epoch stays.
    pub(crate) fn learn(&self, told: impl IntoIterator<Item = Told>) {
        let mut known = self.known.write();
        for (shard, extent, parent) in told {
            let place = known.entry(shard).or_insert(Place { extent, parent });
            place.parent = place.parent.or(parent);
            if extent.epoch > place.extent.epoch {
                place.extent = extent;
            }
        }
        let version = version_of(&known);
        // Under the lock, so that versions are published in their order.
        if self.version.swap(version, Ordering::AcqRel) != version {
            self.news.notify_one();
        }
    }
}

/// What a machine says of the map: itself, then the children that it remembers as they were seeded.
pub(crate) fn places(machine: &Machine) -> Vec<Told> {
    let ShardId(shard) = machine.shard();
    let own = (shard, Extent::of(machine), None);
    let child = |split: machine::command::split::SplitDone| {
        let extent = Extent {
            first: split.at,
            last: split.last,
            epoch: split.epoch,
        };
        (split.child.0, extent, Some(shard))
    };
    std::iter::once(own)
        .chain(machine.splits().into_iter().map(child))
        .collect()
}

fn version_of(known: &BTreeMap<u64, Place>) -> u64 {
    let epochs = known.values().map(|place| place.extent.epoch);
    epochs.fold(1, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const WHOLE: ShardRange = ShardRange {
        shard: 1,
        first: 0,
        last: u64::MAX,
    };

    const fn extent(first: u64, last: u64, epoch: u64) -> Extent {
        Extent { first, last, epoch }
    }

    #[test]
    fn a_split_is_one_change() {
        let map = LocalMap::default();
        map.founded(&WHOLE);
        assert!(map.news().now_or_never().is_none());
        let split = [
            (1, extent(0, 9, 1), None),
            (2, extent(10, u64::MAX, 1), Some(1)),
        ];
        map.seeded(&split, Vec::new());
        assert!(map.news().now_or_never().is_some());
        let expected = vec![(1, split[0].1), (2, split[1].1)];
        assert_eq!(map.all(), (3, expected));
        assert_eq!(
            (map.version(), map.parent(2), map.parent(1)),
            (3, Some(1), None)
        );
        // A repeat, and what was before, change nothing.
        map.seeded(&split, Vec::new());
        map.founded(&WHOLE);
        assert!(map.news().now_or_never().is_none());
        assert_eq!(map.extent(1), Some(extent(0, 9, 1)));
    }

    #[test]
    fn what_a_child_became_is_not_taken_back_by_what_its_parent_remembers() {
        let map = LocalMap::default();
        map.learn([(2, extent(10, 14, 2), None)]);
        map.learn([(1, extent(0, 9, 1), None), (2, extent(10, 20, 1), Some(1))]);
        assert_eq!(map.extent(2), Some(extent(10, 14, 2)));
        assert_eq!(map.parent(2), Some(1));
        assert!(map.extent(3).is_none() && map.take_newborn(2).is_none());
    }
}
