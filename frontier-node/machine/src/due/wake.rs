//! What the wall clock makes due: visits, the end of budget waits, the last clocks of idle hosts.

use crate::{
    authority::Authority,
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        queue::QueueRow,
        schedule::{self, ScheduleRow},
    },
    limits,
    state::{LongestWaits, Phase},
    step::{Queued, Step},
};

impl Step<'_> {
    pub(crate) fn wake_by_wall(&mut self) -> Result<(), MachineError> {
        let longest = self.m.longest_wall_waits();
        let mut left = limits::PROMOTIONS_PER_ENTRY;
        // A host is looked at once a turn even if it has nothing to promote, so turns are bounded too.
        for _ in 0..limits::PROMOTIONS_PER_ENTRY {
            let Some(id) = self
                .m
                .index
                .wall_due(self.wall_ms, &longest)
                .filter(|_| left > 0)
            else {
                break;
            };
            left -= self.promote(id, left, longest.visit_ms)?;
            self.end_wall_waits(id, &longest)?;
        }
        Ok(())
    }

    /// Moves due visits of a host to its queue, at most `left`; says how many.
    fn promote(&mut self, id: u64, left: usize, longest_ms: u64) -> Result<usize, MachineError> {
        let host = self.m.hosts.host(id)?;
        if host.due_unix_ms == u64::MAX {
            return Ok(0);
        }
        let (partition, name) = (host.partition, host.name.clone());
        let (from, to) = schedule::of_host(partition, &name);
        let at = |unix_ms: u64| schedule::key(partition, &name, unix_ms, 0);
        let mut due =
            self.overlay
                .scan(self.rows, &from, &at(self.wall_ms.saturating_add(1)), left)?;
        // A date beyond the longest interval was made by a clock that was set back since: it is due too.
        let last_ms = self.wall_ms.saturating_add(longest_ms);
        let room = left - due.len();
        let too_far = self
            .overlay
            .scan(self.rows, &at(last_ms.saturating_add(1)), &to, room)?;
        let none_left = too_far.len() < room;
        due.extend(too_far);
        let promoted = due.len();
        for (key, value) in due {
            let (_, fingerprint) = schedule::parse(&name, &key)?;
            self.promote_one(id, fingerprint, keys::decode(schedule::SPACE, &value)?)?;
            self.overlay.delete(key);
        }
        self.unschedule(id, promoted as u32)?;
        if none_left {
            self.m.change(id, |host, _| {
                host.last_due_unix_ms = host.last_due_unix_ms.min(last_ms);
            })?;
        }
        self.m.add(Counter::Promoted, promoted as u64);
        Ok(promoted)
    }

    fn promote_one(
        &mut self,
        id: u64,
        fingerprint: u64,
        row: ScheduleRow,
    ) -> Result<(), MachineError> {
        let authority = Authority {
            https: row.https,
            port: row.port as u16,
        };
        let slot = self
            .slot(id, authority)?
            .ok_or(MachineError::Invariant("a scheduled URL has no authority"))?;
        let queued = Queued {
            crawl: row.crawl,
            slot,
            priority: row.priority.min(255) as u8,
            due_ms: self.now_ms,
            fingerprint,
        };
        self.enqueue(
            id,
            queued,
            &QueueRow {
                tried: true,
                ..QueueRow::default()
            },
        )
    }

    /// Counts visits out of a host's schedule and finds its earliest again. Their rows must be gone.
    pub(crate) fn unschedule(&mut self, id: u64, count: u32) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let (from, to) = schedule::of_host(host.partition, &host.name);
        let next = self.overlay.scan(self.rows, &from, &to, 1)?;
        let next = next
            .first()
            .map(|(key, _)| schedule::parse(&host.name, key))
            .transpose()?;
        let below_zero = MachineError::Invariant("a host's schedule is below zero");
        let scheduled = host.scheduled.checked_sub(count).ok_or(below_zero)?;
        self.m.meta.scheduled -= u64::from(count);
        self.m.change(id, |host, _| {
            host.scheduled = scheduled;
            host.due_unix_ms = next.map_or(u64::MAX, |(due_unix_ms, _)| due_unix_ms);
            if next.is_none() {
                host.last_due_unix_ms = 0;
            }
        })
    }

    /// Ends budget waits that are over and, on an idle host, clocks that are past.
    fn end_wall_waits(&mut self, id: u64, longest: &LongestWaits) -> Result<(), MachineError> {
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        let (budget_ms, robots_ms) = (longest.budget_ms, longest.robots_ms);
        let is_past = |unix_ms: u64, longest_ms: u64| {
            unix_ms <= wall_ms || unix_ms > wall_ms.saturating_add(longest_ms)
        };
        self.m.change(id, |host, _| {
            let idle = host.is_idle();
            if let Some(rest) = &mut host.rest {
                for budget in rest.budgets.iter_mut().filter(|budget| {
                    budget.wait_until_unix_ms != 0 && is_past(budget.wait_until_unix_ms, budget_ms)
                }) {
                    budget.wait_until_unix_ms = 0;
                    if is_past(budget.ends_unix_ms, budget_ms) {
                        // The next lease opens the new cycle. Where only the wait was too long, by a cycle of before, what is
                        // spent stays so.
                        (budget.spent, budget.ends_unix_ms) = (0, 0);
                    }
                    host.since_ms = now_ms;
                }
                rest.budgets
                    .retain(|budget| !(idle && is_past(budget.ends_unix_ms, budget_ms)));
            }
            if idle {
                for known in host.authorities.iter_mut().filter(|known| {
                    known.robots.phase == Phase::Fresh && is_past(known.robots.until_ms, robots_ms)
                }) {
                    known.robots.until_ms = 0;
                }
            }
        })
    }
}
