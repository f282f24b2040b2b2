//! A host in memory: the same facts as its row, compact, plus what follows from leases.

use super::{robots::HostAuthority, wall::WallKind};
use crate::{authority::Authority, hash, keys::host::BudgetRow, limits};
use smallvec::SmallVec;

/// Priorities of one class.
pub(crate) const CLASS_SIZE: u8 = 32;
/// Classes of priority.
pub(crate) const CLASSES: usize = 8;
/// The crawl number under which hosts with errands stand in the ordered sets; no crawl has it.
pub(crate) const ERRANDS: u32 = 0;

/// URLs of one crawl and authority, in the order of release. A robots.txt that is not there stops its lane only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub crawl: u32,
    /// Position in [`Host::authorities`].
    pub slot: u8,
    /// Of the head.
    pub priority: u8,
    pub count: u32,
    pub due_ms: u64,
    pub fingerprint: u64,
}

impl Lane {
    /// Order among heads.
    pub fn head(&self) -> (u8, u64, u64) {
        (self.priority, self.due_ms, self.fingerprint)
    }
}

/// Another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    pub host: Box<str>,
    pub partition: u64,
}

/// What few hosts have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    pub blocked_until_ms: u64,
    /// Override, 0 = none.
    pub min_delay_ms: u64,
    /// Nothing of it is leased.
    pub paused: bool,
    /// It is folded into this one.
    pub alias: Option<Other>,
    pub budgets: Vec<BudgetRow>,
}

/// A host. Most have one lane and one authority: those are in place, without an allocation of their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Host {
    pub partition: u64,
    pub name: Box<str>,
    /// By (crawl, authority), none empty.
    pub lanes: SmallVec<[Lane; 1]>,
    /// Positions do not change.
    pub authorities: SmallVec<[HostAuthority; 1]>,
    /// Zero with `contacted` unset.
    pub last_contact_ms: u64,
    pub delay_ms: u64,
    pub back_off_until_ms: u64,
    pub since_ms: u64,
    /// Idle, it was found to be needed until then; 0 = never.
    pub kept_until_ms: u64,
    /// Earliest visit in the schedule, `u64::MAX` = none.
    pub due_unix_ms: u64,
    /// No visit in the schedule is later; 0 = none.
    pub last_due_unix_ms: u64,
    /// A lease of it is out.
    pub in_flight: bool,
    pub rest: Option<Box<Rest>>,
    pub scheduled: u32,
    pub done: u32,
    pub response_time_ms: u32,
    /// URLs counted as waiting behind robots when it was linked.
    pub robots_waiting: u32,
    pub failures: u16,
    pub dns_failures: u16,
    pub errands: u8,
    pub errand_turn: bool,
    pub contacted: bool,
    pub changed: bool,
}

impl Host {
    pub fn new(partition: u64, name: &str) -> Self {
        Self {
            partition,
            name: name.into(),
            lanes: SmallVec::new(),
            authorities: SmallVec::new(),
            last_contact_ms: 0,
            delay_ms: 0,
            back_off_until_ms: 0,
            since_ms: 0,
            kept_until_ms: 0,
            due_unix_ms: u64::MAX,
            last_due_unix_ms: 0,
            in_flight: false,
            rest: None,
            scheduled: 0,
            done: 0,
            response_time_ms: 0,
            robots_waiting: 0,
            failures: 0,
            dns_failures: 0,
            errands: 0,
            errand_turn: false,
            contacted: false,
            changed: false,
        }
    }

    /// It may have been contacted as late as this.
    pub fn raise_contact(&mut self, at_ms: u64) {
        self.contacted = true;
        self.last_contact_ms = self.last_contact_ms.max(at_ms);
    }

    /// Queued URLs.
    pub fn queued(&self) -> u32 {
        self.lanes
            .iter()
            .fold(0, |sum, lane| sum.saturating_add(lane.count))
    }

    /// Whether something waits to be leased.
    pub fn has_work(&self) -> bool {
        !self.lanes.is_empty() || self.errands > 0
    }

    /// Whether nothing refers to it but its clocks.
    pub fn is_idle(&self) -> bool {
        !self.has_work() && self.scheduled == 0 && !self.in_flight
    }

    pub fn blocked_until_ms(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.blocked_until_ms)
    }

    pub fn min_delay_ms(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.min_delay_ms)
    }

    pub fn is_paused(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.paused)
    }

    pub fn alias(&self) -> Option<&Other> {
        self.rest.as_ref().and_then(|rest| rest.alias.as_ref())
    }

    /// Whether something of it waits to be moved to the host that it is folded into.
    pub fn has_moves(&self) -> bool {
        self.alias().is_some() && (!self.lanes.is_empty() || self.scheduled > 0)
    }

    pub fn budgets(&self) -> &[BudgetRow] {
        self.rest.as_ref().map_or(&[], |rest| &rest.budgets)
    }

    pub fn rest_mut(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Shard time from which its clock allows a contact, by the stored delay.
    pub fn clock_ms(&self) -> u64 {
        let contact = if self.contacted {
            self.last_contact_ms.saturating_add(self.delay_ms)
        } else {
            0
        };
        contact
            .max(self.back_off_until_ms)
            .max(self.blocked_until_ms())
    }

    /// Whether a crawl has spent its budget here.
    pub fn is_over_budget(&self, crawl: u32) -> bool {
        self.budgets()
            .iter()
            .any(|budget| budget.crawl == crawl && budget.wait_until_unix_ms != 0)
    }

    /// Shard time from which a lane may be worked on; `None` = no shard time will do.
    pub fn lane_ready_ms(&self, lane: &Lane) -> Option<u64> {
        if self.is_over_budget(lane.crawl) {
            return None;
        }
        let waits = self
            .authorities
            .get(usize::from(lane.slot))?
            .robots
            .waits_until_ms()?;
        Some(waits.max(self.clock_ms()).max(self.since_ms))
    }

    /// Where it stands in the ordered sets: for each crawl the earliest time and, at that time, the best class.
    pub fn ready_keys(&self, mut each: impl FnMut(u32, usize, u64)) {
        if self.in_flight || self.is_paused() {
            return;
        }
        if self.errands > 0 {
            each(ERRANDS, 0, self.clock_ms().max(self.since_ms));
        }
        if self.alias().is_some() {
            return;
        }
        let mut best: Option<(u32, u64, usize)> = None;
        for lane in &self.lanes {
            let Some(at_ms) = self.lane_ready_ms(lane) else {
                continue;
            };
            let class = usize::from(lane.priority / CLASS_SIZE);
            best = match best {
                Some((crawl, other_ms, other)) if crawl == lane.crawl => Some((
                    crawl,
                    other_ms.min(at_ms),
                    if at_ms < other_ms {
                        class
                    } else if at_ms == other_ms {
                        class.min(other)
                    } else {
                        other
                    },
                )),
                Some((crawl, other_ms, other)) => {
                    each(crawl, other, other_ms);
                    Some((lane.crawl, at_ms, class))
                }
                None => Some((lane.crawl, at_ms, class)),
            };
        }
        if let Some((crawl, at_ms, class)) = best {
            each(crawl, class, at_ms);
        }
    }

    /// Wall dates at which it must be looked at: its first visit and the bound of its last, the ends of budget waits, and,
    /// idle, the last of its budget cycles and of its robots. A bound is there so that a date too far ahead is found even
    /// behind one that is not.
    pub fn wall_dates(&self, mut each: impl FnMut(WallKind, u64)) {
        if self.due_unix_ms != u64::MAX {
            each(WallKind::Visit, self.due_unix_ms);
            each(WallKind::Visit, self.last_due_unix_ms);
        }
        let waits = self.budgets().iter();
        for until in waits.map(|budget| budget.wait_until_unix_ms) {
            if until != 0 {
                each(WallKind::Budget, until);
            }
        }
        if !self.is_idle() {
            return;
        }
        let cycles = self.budgets().iter().map(|budget| budget.ends_unix_ms);
        if let Some(end) = cycles.max().filter(|end| *end != 0) {
            each(WallKind::Budget, end);
        }
        let fresh = self
            .authorities
            .iter()
            .filter(|known| known.robots.phase == super::Phase::Fresh)
            .map(|known| known.robots.until_ms);
        if let Some(end) = fresh.max().filter(|end| *end != 0) {
            each(WallKind::Robots, end);
        }
    }

    fn has_wall_dates(&self) -> bool {
        let mut has = false;
        self.wall_dates(|_, _| has = true);
        has
    }

    /// Shard time from which an idle host without wall dates may be forgotten, if no crawl of that moment could ask for a longer
    /// delay. An override, a pause or an alias stays.
    pub fn idle_key(&self) -> Option<u64> {
        let is_kept = self.min_delay_ms() != 0 || self.is_paused() || self.alias().is_some();
        if !self.is_idle() || is_kept || self.has_wall_dates() {
            return None;
        }
        let contact_kept_ms = if self.contacted {
            self.last_contact_ms.saturating_add(limits::HOST_KEPT_MS)
        } else {
            0
        };
        let robots = self.authorities.iter().filter(|known| {
            matches!(
                known.robots.phase,
                super::Phase::Unreachable | super::Phase::Pending
            )
        });
        Some(
            robots
                .map(|known| known.robots.until_ms)
                .max()
                .unwrap_or(0)
                .max(self.clock_ms())
                .max(self.kept_until_ms)
                .max(contact_kept_ms),
        )
    }

    pub fn slot(&self, authority: Authority) -> Option<u8> {
        self.authorities
            .iter()
            .position(|known| known.authority == authority)
            .and_then(|slot| u8::try_from(slot).ok())
    }

    pub fn lane(&self, crawl: u32, slot: u8) -> Option<&Lane> {
        self.lanes
            .iter()
            .find(|lane| lane.crawl == crawl && lane.slot == slot)
    }

    /// Its own allocations with 16 bytes overhead each, and its entries in trees that are two thirds full.
    pub fn memory_estimate_bytes(&self) -> usize {
        const ALLOCATION: usize = 16;
        let trees = (16 + 16 + 16) * 3 / 2;
        let lanes = if self.lanes.spilled() {
            self.lanes.capacity() * size_of::<Lane>() + ALLOCATION
        } else {
            0
        };
        let authorities = if self.authorities.spilled() {
            self.authorities.capacity() * size_of::<HostAuthority>() + ALLOCATION
        } else {
            0
        };
        let rest = self.rest.as_ref().map_or(0, |rest| {
            size_of::<Rest>() + rest.budgets.capacity() * size_of::<BudgetRow>() + 2 * ALLOCATION
        });
        size_of::<Self>() + self.name.len() + 2 * ALLOCATION + lanes + authorities + rest + trees
    }

    /// A hash for jitter: the same on every replica and after every restart.
    pub fn hash(&self, seed: u64) -> u64 {
        hash::bytes(self.partition ^ hash::mix(seed), self.name.as_bytes())
    }
}
