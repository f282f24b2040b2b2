//! The ordered sets of wall dates, one for each kind: each kind has its own longest legal interval, and a date further ahead than
//! that was stored before the clock stepped back, so it is due now.

use std::collections::BTreeSet;

/// What a date is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WallKind {
    Visit,
    Budget,
    Robots,
}

/// How far ahead dates may legally lie, ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongestWaits {
    pub visit_ms: u64,
    /// Ends of cycles and of the waits for them.
    pub budget_ms: u64,
    pub robots_ms: u64,
}

/// (Unix ms, host) of each kind.
#[derive(Debug, Default)]
pub(crate) struct Wall {
    visits: BTreeSet<(u64, u64)>,
    budgets: BTreeSet<(u64, u64)>,
    robots: BTreeSet<(u64, u64)>,
}

impl Wall {
    /// All dates at once, which is faster than one by one.
    pub fn of(dates: Vec<(WallKind, u64, u64)>) -> Self {
        let kind = |kind: WallKind| {
            dates
                .iter()
                .filter(move |(other, _, _)| *other == kind)
                .map(|(_, at, id)| (*at, *id))
                .collect()
        };
        Self {
            visits: kind(WallKind::Visit),
            budgets: kind(WallKind::Budget),
            robots: kind(WallKind::Robots),
        }
    }

    pub fn insert(&mut self, kind: WallKind, at_unix_ms: u64, id: u64) {
        self.set(kind).insert((at_unix_ms, id));
    }

    pub fn remove(&mut self, kind: WallKind, at_unix_ms: u64, id: u64) {
        self.set(kind).remove(&(at_unix_ms, id));
    }

    fn set(&mut self, kind: WallKind) -> &mut BTreeSet<(u64, u64)> {
        match kind {
            WallKind::Visit => &mut self.visits,
            WallKind::Budget => &mut self.budgets,
            WallKind::Robots => &mut self.robots,
        }
    }

    /// A host with a date that is due.
    pub fn due(&self, wall_ms: u64, longest: &LongestWaits) -> Option<u64> {
        let of = |set: &BTreeSet<(u64, u64)>, longest_ms: u64| {
            let first = set.first().filter(|(at, _)| *at <= wall_ms);
            let last = || {
                set.last()
                    .filter(|(at, _)| *at > wall_ms.saturating_add(longest_ms))
            };
            first.or_else(last).map(|(_, id)| *id)
        };
        of(&self.visits, longest.visit_ms)
            .or_else(|| of(&self.budgets, longest.budget_ms))
            .or_else(|| of(&self.robots, longest.robots_ms))
    }

    /// The earliest date of any kind.
    pub fn next_unix_ms(&self) -> Option<u64> {
        [&self.visits, &self.budgets, &self.robots]
            .into_iter()
            .filter_map(|set| set.first())
            .map(|(at, _)| *at)
            .min()
    }

    /// All entries, for comparing a rebuilt machine.
    #[cfg(test)]
    pub fn entries(&self) -> Vec<(usize, u64, u64)> {
        [&self.visits, &self.budgets, &self.robots]
            .into_iter()
            .enumerate()
            .flat_map(|(kind, set)| set.iter().map(move |(at, id)| (kind, *at, *id)))
            .collect()
    }
}
