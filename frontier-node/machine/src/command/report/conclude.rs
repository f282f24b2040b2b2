//! What every end of a lease shares: whose it is, and where its URL goes.

use super::{LostReason, ReportResult};
use crate::{
    command::lease::{LeaseKey, LeaseKind},
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        lease::LeaseRow,
        queue::QueueRow,
        robots::RobotsRow,
        schedule::ScheduleRow,
        url::{Stored, UrlRow},
    },
    state::hosts,
    step::{Queued, Step, authority_of},
};
use prost::Message;

/// Where a URL goes when its lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Back to the queue, at this due time among equal priorities.
    Requeue { due_ms: u64 },
    /// To the schedule.
    Visit { due_unix_ms: u64 },
    /// It had an answer.
    Done,
    /// It ends with a reason and without an answer.
    Refused,
}

/// Counts a failed attempt; after the last the URL ends.
pub(crate) fn attempt(url: &mut UrlRow, max_attempts: u32) -> Option<Next> {
    url.attempts = url.attempts.saturating_add(1);
    if url.attempts < max_attempts {
        return None;
    }
    url.last_reason = "unfetchable".into();
    Some(Next::Refused)
}

impl Step<'_> {
    /// The key of a lease that is held under this token; else the answer.
    pub(crate) fn held(
        &mut self,
        key: Option<LeaseKey>,
        token: u64,
    ) -> Result<Result<LeaseKey, ReportResult>, MachineError> {
        let Some(key) = key.filter(|key| LeaseKind::try_from(key.kind).is_ok()) else {
            return Ok(Err(ReportResult::Invalid("lease_key")));
        };
        if !self.m.holds(key.partition) {
            return Ok(Err(ReportResult::WrongShard));
        }
        let entry = self.m.leases.get(key);
        if entry.is_some_and(|entry| entry.token == token) {
            return Ok(Ok(key));
        }
        // An older token may be that of the last lease that was closed: a repeat, answered as before.
        let (closed, is_known) = self.last_closed(key, token)?;
        if let Some(answer) = closed {
            self.m.count(Counter::ReportRepeated);
            return Ok(Err(answer));
        }
        let granted = token != 0 && token <= self.m.meta.token;
        Ok(Err(ReportResult::LeaseLost(match entry {
            Some(entry) if granted && token < entry.token => LostReason::Superseded,
            None if granted && is_known => LostReason::Expired,
            _ => LostReason::Unknown,
        })))
    }

    /// How this token was closed, if it was the last, and whether anything is known of the key.
    fn last_closed(
        &self,
        key: LeaseKey,
        token: u64,
    ) -> Result<(Option<ReportResult>, bool), MachineError> {
        if token == 0 {
            return Ok((None, false));
        }
        match key.kind() {
            LeaseKind::Page => {
                let Some(url) = self.url_row(key.partition, key.fingerprint)? else {
                    return Ok((None, false));
                };
                let answer = if url.closed_requeued {
                    ReportResult::Requeued
                } else {
                    ReportResult::Closed
                };
                Ok(((url.closed_token == token).then_some(answer), true))
            }
            LeaseKind::Robots => {
                let (id, slot) = hosts::of_robots_id(key.fingerprint);
                let Some(host) = self
                    .m
                    .hosts
                    .get(id)
                    .filter(|host| host.partition == key.partition)
                else {
                    return Ok((None, false));
                };
                let Ok(authority) = authority_of(host, slot) else {
                    return Ok((None, false));
                };
                let row: Option<RobotsRow> = self.read(
                    keys::robots::SPACE,
                    &keys::robots::key(key.partition, &host.name, authority),
                )?;
                Ok((
                    row.is_some_and(|row| row.closed_token == token)
                        .then_some(ReportResult::Closed),
                    true,
                ))
            }
            // An errand leaves nothing behind.
            LeaseKind::Errand => Ok((None, false)),
        }
    }

    /// Host and row of a lease that is out.
    pub(crate) fn leased(&self, key: LeaseKey) -> Result<(u64, LeaseRow), MachineError> {
        let entry = self
            .m
            .leases
            .get(key)
            .ok_or(MachineError::Invariant("a lease is not in memory"))?;
        let row: Option<LeaseRow> = self.read(keys::lease::SPACE, &keys::lease::key(key))?;
        let row = row
            .filter(|row| row.token == entry.token)
            .ok_or(MachineError::Invariant("a lease has no row"))?;
        Ok((entry.host, row))
    }

    /// The record of a leased URL, new if this is its first lease.
    pub(crate) fn leased_url(
        &self,
        key: LeaseKey,
        lease: &LeaseRow,
    ) -> Result<UrlRow, MachineError> {
        if lease.tried {
            self.tried_url(key.partition, key.fingerprint)
        } else {
            Ok(UrlRow::of_lease(lease))
        }
    }

    /// Takes a lease away; the host's `in_flight` is the caller's.
    pub(crate) fn end_lease(&mut self, key: LeaseKey) {
        self.overlay.delete(keys::lease::key(key));
        self.m.leases.remove(key);
    }

    /// Ends a page lease: the URL goes where `next` says, or closes as removed.
    pub(crate) fn conclude_page(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        mut url: UrlRow,
        next: Next,
    ) -> Result<(), MachineError> {
        self.end_lease(key);
        self.m.meta.leased -= 1;
        let crawl = self.m.crawls.get(&lease.crawl);
        let crawl_removed = crawl.is_some_and(|crawl| crawl.removed);
        if lease.removed || crawl_removed {
            self.m.meta.removed += 1;
            url.state = Stored::Removed as i32;
            if lease.forget || (crawl_removed && crawl.is_some_and(|crawl| crawl.forget)) {
                self.forget_url(key.partition, key.fingerprint);
            } else {
                self.put_url(key.partition, key.fingerprint, &url);
            }
            return Ok(());
        }
        url.state = self.place(id, key, lease, next)? as i32;
        url.next_visit_unix_ms = if let Next::Visit { due_unix_ms } = next {
            due_unix_ms
        } else {
            0
        };
        self.put_url(key.partition, key.fingerprint, &url);
        Ok(())
    }

    fn place(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        next: Next,
    ) -> Result<Stored, MachineError> {
        match next {
            Next::Requeue { due_ms } => {
                let queued = Queued {
                    crawl: lease.crawl,
                    slot: lease.authority as u8,
                    priority: lease.priority.min(255) as u8,
                    due_ms,
                    fingerprint: key.fingerprint,
                };
                self.enqueue(
                    id,
                    queued,
                    &QueueRow {
                        tried: true,
                        ..QueueRow::default()
                    },
                )?;
                Ok(Stored::Waiting)
            }
            Next::Visit { due_unix_ms } => {
                self.schedule(id, key, lease, due_unix_ms)?;
                Ok(Stored::Scheduled)
            }
            Next::Done => {
                self.m.meta.done += 1;
                let host = self.m.hosts.host_mut(id)?;
                host.done = host.done.saturating_add(1);
                self.m.touch(id);
                Ok(Stored::Done)
            }
            Next::Refused => {
                self.m.meta.refused += 1;
                Ok(Stored::Refused)
            }
        }
    }

    fn schedule(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        due_unix_ms: u64,
    ) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let authority = authority_of(host, lease.authority as u8)?;
        let row = ScheduleRow {
            crawl: lease.crawl,
            https: authority.https,
            port: u32::from(authority.port),
            priority: lease.priority,
        };
        self.overlay.put(
            keys::schedule::key(key.partition, &host.name, due_unix_ms, key.fingerprint),
            row.encode_to_vec(),
        );
        self.m.meta.scheduled += 1;
        self.m.change(id, |host, _| {
            host.scheduled = host.scheduled.saturating_add(1);
            host.due_unix_ms = host.due_unix_ms.min(due_unix_ms);
            host.last_due_unix_ms = host.last_due_unix_ms.max(due_unix_ms);
        })
    }

    pub(crate) fn count_result(&mut self, result: &ReportResult) {
        match result {
            ReportResult::Closed => {}
            ReportResult::Requeued => self.m.count(Counter::OutboxFull),
            ReportResult::LeaseLost(LostReason::Expired) => self.m.count(Counter::LostExpired),
            ReportResult::LeaseLost(LostReason::Superseded) => {
                self.m.count(Counter::LostSuperseded)
            }
            ReportResult::LeaseLost(LostReason::Unknown) => self.m.count(Counter::LostUnknown),
            ReportResult::WrongShard => self.m.count(Counter::WrongShard),
            ReportResult::Invalid(_) => self.m.count(Counter::ReportInvalid),
        }
    }
}
