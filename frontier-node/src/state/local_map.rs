//! What this node knows of the shard map: the range of every shard, by its own replicas and by its copy of the cluster's map,
//! whichever knows better; and which nodes have it, by the map.
//!
//! A split changes it in one step, parent and child together, after its rows are committed and before anybody is answered. So
//! no reader ever sees a hash with two owners or with none. The copy of the map follows, or is ahead where replicas lag: the
//! higher epoch is the truth, since a split gives both of its shards the map's next one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::{Machine, ShardId};
use parking_lot::{Mutex, RwLock};
use raftlog::NodeId;
use shard_map::{Shard, ShardMap};
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

    /// Whether both own some hash.
    pub(crate) const fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl From<&Shard> for Extent {
    fn from(shard: &Shard) -> Self {
        Self {
            first: shard.first,
            last: shard.last,
            epoch: shard.members.epoch,
        }
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
    known: RwLock<Known>,
    /// Machines of children that were seeded in this process.
    newborn: Mutex<BTreeMap<u64, Machine>>,
    version: AtomicU64,
    /// Tells whoever opens children that there is news.
    news: Notify,
}

/// A shard, its range, and the shard it was split from where that is known.
pub(crate) type Told = (u64, Extent, Option<u64>);

#[derive(Default)]
struct Known {
    places: BTreeMap<u64, Place>,
    /// Version of the newest copy of the map; 0: there was none.
    map: u64,
    /// Addresses of the nodes that take part, by the map.
    nodes: BTreeMap<u32, String>,
}

#[derive(Clone, Default)]
struct Place {
    extent: Extent,
    parent: Option<u64>,
    /// A replica of this node has it, had it, or seeded it.
    is_own: bool,
    /// Its replicas by the map; empty: the map does not know it.
    replicas: Vec<NodeId>,
}

impl Known {
    fn version(&self) -> u64 {
        let epochs = self.places.values().map(|place| place.extent.epoch);
        epochs.fold(1, u64::saturating_add)
    }

    /// A shard keeps its first hash for ever. So where nobody here has heard of all splits, whoever begins later ends who begins
    /// before, and no hash has two owners.
    fn cut_overlaps(&mut self) {
        let mut places: Vec<&mut Place> = self.places.values_mut().collect();
        places.sort_unstable_by_key(|place| place.extent.first);
        let mut next_first = None;
        for place in places.into_iter().rev() {
            let extent = &mut place.extent;
            if let Some(before) = next_first.and_then(|next: u64| next.checked_sub(1)) {
                extent.last = extent.last.min(before.max(extent.first));
            }
            next_first = Some(extent.first);
        }
    }

    /// Of what is known and what is told the higher epoch stays.
    fn take(&mut self, shard: u64, extent: Extent) -> &mut Place {
        let new = Place {
            extent,
            ..Place::default()
        };
        let place = self.places.entry(shard).or_insert(new);
        if extent.epoch > place.extent.epoch {
            place.extent = extent;
        }
        place
    }

    /// The replicas of a shard; those of its parent while the map does not know it, since they make it.
    fn replicas(&self, shard: u64) -> &[NodeId] {
        let mut place = self.places.get(&shard);
        while let Some(here) = place {
            if !here.replicas.is_empty() {
                return &here.replicas;
            }
            // A child's number is higher than its parent's, which ends this.
            let parent = here.parent.filter(|parent| *parent < shard);
            place = parent.and_then(|parent| self.places.get(&parent));
        }
        &[]
    }
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
    /// The map's version: rises with every change of any shard's shape, and is the same wherever the same changes are known.
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
        let all = known.places.iter();
        let all = all.map(|(shard, place)| (*shard, place.extent));
        (known.version(), all.collect())
    }

    /// The shards that this node's own replicas know of: they have them, had them, or seeded them.
    pub(crate) fn own(&self) -> Vec<u64> {
        let known = self.known.read();
        let own = known.places.iter().filter(|(_, place)| place.is_own);
        own.map(|(shard, _)| *shard).collect()
    }

    /// The range of a shard.
    pub(crate) fn extent(&self, shard: u64) -> Option<Extent> {
        let known = self.known.read();
        known.places.get(&shard).map(|place| place.extent)
    }

    /// The shard that a child was seen to be split from.
    pub(crate) fn parent(&self, child: u64) -> Option<u64> {
        let known = self.known.read();
        known.places.get(&child).and_then(|place| place.parent)
    }

    /// The replicas of a shard by the map, learners included; empty where the map does not say.
    pub(crate) fn replicas(&self, shard: u64) -> Vec<NodeId> {
        self.known.read().replicas(shard).to_vec()
    }

    /// Where a node is, by the map.
    pub(crate) fn address(&self, node: u32) -> Option<String> {
        self.known.read().nodes.get(&node).cloned()
    }

    /// Where the nodes are that take part, by the map.
    pub(crate) fn addresses(&self) -> BTreeMap<u32, String> {
        self.known.read().nodes.clone()
    }

    /// A shard of the founding, wherever it is.
    pub(crate) fn founded(&self, range: &ShardRange) {
        self.change(|known| {
            known.take(range.shard, Extent::from(range));
        });
    }

    /// A replica of the shard is open here; it may have no rows yet.
    pub(crate) fn opened(&self, shard: u64) {
        self.change(|known| {
            if let Some(place) = known.places.get_mut(&shard) {
                place.is_own = true;
            }
        });
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

    /// Takes what a machine that was made of rows says of the map.
    pub(crate) fn learn(&self, told: impl IntoIterator<Item = Told>) {
        self.change(|known| {
            for (shard, extent, parent) in told {
                let place = known.take(shard, extent);
                place.parent = place.parent.or(parent);
                place.is_own = true;
            }
        });
    }

    /// Takes a copy of the cluster's map; an older one than was taken before says nothing.
    pub(crate) fn follow(&self, map: &ShardMap) {
        if !map.is_founded() {
            return;
        }
        self.change(|known| {
            if map.version <= known.map {
                return;
            }
            known.map = map.version;
            for shard in &map.shards {
                let place = known.take(shard.id, Extent::from(shard));
                place.replicas = shard.members.replicas.iter().map(|r| r.id).collect();
            }
            let present = map.present_nodes();
            known.nodes = present.map(|n| (n.number, n.address.clone())).collect();
        });
    }

    /// This node has a shard no more, and nothing of it.
    pub(crate) fn left(&self, shard: u64) {
        self.take_newborn(shard);
        self.change(|known| {
            if let Some(place) = known.places.get_mut(&shard) {
                place.is_own = false;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known.write();
        change(&mut known);
        known.cut_overlaps();
        let version = known.version();
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

#[cfg(test)]
#[path = "local_map_tests.rs"]
mod tests;
