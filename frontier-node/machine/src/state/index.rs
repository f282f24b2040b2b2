//! The ordered sets that find what is due without looking at anything else.
//!
//! Hosts stand once per crawl that has URLs on them, by class and by the time from which they may be leased. So a paused or
//! removed crawl is skipped whole, and nothing moves between sets because time passed or a policy changed: the keys follow
//! from host rows alone, and a rebuilt machine has the same sets.

use super::{
    Hosts,
    host::{CLASSES, Host},
    wall::{LongestWaits, Wall},
};
use std::collections::{BTreeMap, BTreeSet};

type TimeSet = BTreeSet<(u64, u64)>;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By crawl and class: (ready at, host).
    ready: BTreeMap<u32, [TimeSet; CLASSES]>,
    wall: Wall,
    /// (Shard time, host) of hosts to be forgotten.
    idle: TimeSet,
    /// Hosts with URLs behind robots that were unreachable too long.
    endings: BTreeSet<u64>,
    /// Aliased hosts with URLs to move.
    aliased: BTreeSet<u64>,
    /// URLs in lanes that wait for robots.
    robots_waiting: u64,
}

impl Index {
    /// The sets of all hosts at once, which is faster than one by one.
    pub fn of(hosts: &mut Hosts) -> Self {
        let mut ready: BTreeMap<u32, [Vec<(u64, u64)>; CLASSES]> = BTreeMap::new();
        let (mut wall, mut idle, mut index) = (Vec::new(), Vec::new(), Self::default());
        for (id, host) in hosts.iter_mut() {
            host.ready_keys(|crawl, class, at_ms| {
                if let Some(set) = ready.entry(crawl).or_default().get_mut(class) {
                    set.push((at_ms, id));
                }
            });
            host.wall_dates(|kind, at| wall.push((kind, at, id)));
            idle.extend(host.idle_key().map(|at_ms| (at_ms, id)));
            index.note_robots(id, host);
        }
        let sets = ready
            .into_iter()
            .map(|(crawl, sets)| (crawl, sets.map(BTreeSet::from_iter)));
        Self {
            ready: sets.collect(),
            wall: Wall::of(wall),
            idle: idle.into_iter().collect(),
            ..index
        }
    }

    fn note_robots(&mut self, id: u64, host: &mut Host) {
        if has_endings(host) {
            self.endings.insert(id);
        }
        if host.has_moves() {
            self.aliased.insert(id);
        }
        host.robots_waiting = waiting(host);
        self.robots_waiting += u64::from(host.robots_waiting);
    }

    /// Enters a host; its fields that keys follow from may not change until it is taken out.
    pub fn link(&mut self, id: u64, host: &mut Host) {
        let ready = &mut self.ready;
        host.ready_keys(|crawl, class, at_ms| {
            if let Some(set) = ready.entry(crawl).or_default().get_mut(class) {
                set.insert((at_ms, id));
            }
        });
        let wall = &mut self.wall;
        host.wall_dates(|kind, at| wall.insert(kind, at, id));
        if let Some(at_ms) = host.idle_key() {
            self.idle.insert((at_ms, id));
        }
        self.note_robots(id, host);
    }

    /// Takes a host out, as it was entered.
    pub fn unlink(&mut self, id: u64, host: &Host) {
        let ready = &mut self.ready;
        host.ready_keys(|crawl, class, at_ms| {
            if let Some(set) = ready.get_mut(&crawl).and_then(|sets| sets.get_mut(class)) {
                set.remove(&(at_ms, id));
            }
        });
        let wall = &mut self.wall;
        host.wall_dates(|kind, at| wall.remove(kind, at, id));
        if let Some(at_ms) = host.idle_key() {
            self.idle.remove(&(at_ms, id));
        }
        if has_endings(host) {
            self.endings.remove(&id);
        }
        if host.has_moves() {
            self.aliased.remove(&id);
        }
        self.robots_waiting -= u64::from(host.robots_waiting);
    }

    /// The next host to lease: the best class first, in it the longest ready; with `fair` the longest ready of all.
    pub fn pick(&self, now_ms: u64, fair: bool, is_live: impl Fn(u32) -> bool) -> Option<u64> {
        let mut best: Option<(usize, u64, u64)> = None;
        for (_, sets) in self.ready.iter().filter(|(crawl, _)| is_live(**crawl)) {
            for (class, set) in sets.iter().enumerate() {
                let Some(&(at_ms, id)) = set.first().filter(|(at_ms, _)| *at_ms <= now_ms) else {
                    continue;
                };
                let rank = (if fair { 0 } else { class }, at_ms, id);
                if best.is_none_or(|best| rank < best) {
                    best = Some(rank);
                }
                if !fair {
                    break;
                }
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// Shard time from which the next host may be leased.
    pub fn next_ready_ms(&self, is_live: impl Fn(u32) -> bool) -> Option<u64> {
        let sets = self
            .ready
            .iter()
            .filter(|(crawl, _)| is_live(**crawl))
            .flat_map(|(_, sets)| sets);
        sets.filter_map(|set| set.first())
            .map(|(at_ms, _)| *at_ms)
            .min()
    }

    /// Hosts ready now by class, counted up to `most` per crawl and class, and the earliest ready time among them.
    pub fn ready_by_class(
        &self,
        now_ms: u64,
        most: usize,
        is_live: impl Fn(u32) -> bool,
    ) -> ([u64; CLASSES], Option<u64>) {
        let mut by_class = [0; CLASSES];
        let mut oldest = None;
        for (_, sets) in self.ready.iter().filter(|(crawl, _)| is_live(**crawl)) {
            for (count, set) in by_class.iter_mut().zip(sets) {
                let mut ready = set.range(..=(now_ms, u64::MAX)).take(most).peekable();
                if let Some((at_ms, _)) = ready.peek() {
                    oldest = Some(oldest.map_or(*at_ms, |oldest: u64| oldest.min(*at_ms)));
                }
                *count += ready.count() as u64;
            }
        }
        (by_class, oldest)
    }

    /// A host with a wall date that is due.
    pub fn wall_due(&self, wall_ms: u64, longest: &LongestWaits) -> Option<u64> {
        self.wall.due(wall_ms, longest)
    }

    /// Unix ms of the earliest wall date.
    pub fn next_wall_unix_ms(&self) -> Option<u64> {
        self.wall.next_unix_ms()
    }

    /// A host to be forgotten.
    pub fn idle_due(&self, now_ms: u64) -> Option<u64> {
        self.idle
            .first()
            .filter(|(at_ms, _)| *at_ms <= now_ms)
            .map(|(_, id)| *id)
    }

    pub fn next_idle_ms(&self) -> Option<u64> {
        self.idle.first().map(|(at_ms, _)| *at_ms)
    }

    /// A host with URLs to end.
    pub fn next_ending(&self) -> Option<u64> {
        self.endings.first().copied()
    }

    /// An aliased host with URLs to move.
    pub fn next_aliased(&self) -> Option<u64> {
        self.aliased.first().copied()
    }

    pub fn robots_waiting(&self) -> u64 {
        self.robots_waiting
    }

    /// All entries, for comparing a rebuilt machine.
    #[cfg(test)]
    pub fn entries(&self) -> Vec<(u32, usize, u64, u64)> {
        let ready = self.ready.iter().flat_map(|(crawl, sets)| {
            sets.iter().enumerate().flat_map(move |(class, set)| {
                set.iter().map(move |(at, id)| (*crawl, class, *at, *id))
            })
        });
        let wall = self.wall.entries().into_iter();
        let wall = wall.map(|(kind, at, id)| (u32::MAX, kind, at, id));
        let idle = self.idle.iter().map(|(at, id)| (u32::MAX, 3, *at, *id));
        ready
            .chain(wall)
            .chain(idle)
            .chain(self.endings.iter().map(|id| (u32::MAX, 4, 0, *id)))
            .chain(self.aliased.iter().map(|id| (u32::MAX, 5, 0, *id)))
            .collect()
    }
}

fn has_endings(host: &Host) -> bool {
    host.authorities.iter().any(|known| known.robots.ending)
}

fn waiting(host: &Host) -> u32 {
    let waits = |slot: u8| {
        host.authorities
            .get(usize::from(slot))
            .is_some_and(|known| known.robots.waits_until_ms() != Some(0))
    };
    host.lanes
        .iter()
        .filter(|lane| waits(lane.slot))
        .fold(0, |sum, lane| sum.saturating_add(lane.count))
}
