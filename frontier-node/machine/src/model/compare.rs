//! The model against all rows, after every entry.

use super::state::{Budget, Good, Host, Judged, Model, Phase, Robots, Where, must};
use crate::{
    authority::Authority,
    invariants::View,
    keys::host::{AuthorityRow, HostRow},
};

impl Model {
    /// Everything the model knows must stand in the rows, and nothing else; what it left open is taken over.
    pub fn compare(&mut self, after: &View) -> Judged {
        self.compare_totals(after)?;
        self.compare_urls(after)?;
        self.compare_leases(after)?;
        self.compare_hosts(after)
    }

    fn compare_totals(&self, after: &View) -> Judged {
        let meta = &after.meta;
        let count = |place: fn(&Where) -> bool| {
            self.urls.iter().filter(|url| place(&url.place)).count() as u64
        };
        let beyond = |count: u64, beyond: i64| count.wrapping_add_signed(beyond);
        for (name, row, own) in [
            ("first", meta.first, self.range.0),
            ("last", meta.last, self.range.1),
            ("token", meta.token, self.token),
            ("accepted", meta.accepted, self.accepted),
            (
                "queued",
                meta.queued,
                count(|place| matches!(place, Where::Queued { .. })),
            ),
            (
                "scheduled",
                meta.scheduled,
                count(|place| matches!(place, Where::Scheduled { .. })),
            ),
            (
                "leased",
                meta.leased,
                count(|place| matches!(place, Where::Leased)),
            ),
            (
                "done",
                meta.done,
                beyond(
                    count(|place| matches!(place, Where::Done)),
                    self.beyond.done,
                ),
            ),
            (
                "removed",
                meta.removed,
                beyond(
                    count(|place| matches!(place, Where::Removed)) + self.forgotten,
                    self.beyond.removed,
                ),
            ),
            (
                "refused",
                meta.refused,
                beyond(
                    count(|place| matches!(place, Where::Refused)),
                    self.beyond.refused,
                ),
            ),
            ("outbox in", meta.outbox_in, self.outbox_in),
            (
                "outbox waiting",
                meta.outbox_waiting,
                self.outbox.len() as u64,
            ),
            ("outbox delivered", meta.outbox_delivered, self.delivered),
            ("seen", after.seen.len() as u64, self.urls.len() as u64),
            (
                "errands",
                after.errands.len() as u64,
                self.errands.len() as u64,
            ),
            ("hosts", after.hosts.len() as u64, self.hosts.len() as u64),
        ] {
            must(row == own, || format!("{name} is {row}, expected {own}"))?;
        }
        Ok(())
    }

    fn compare_urls(&self, after: &View) -> Judged {
        for url in &self.urls {
            let actual = Self::place_in(after, url.partition, url.fingerprint);
            must(actual == Some(url.place), || {
                format!(
                    "{} of crawl {} is {actual:?}, expected {:?}",
                    url.url, url.crawl, url.place
                )
            })?;
            if let Some(row) = after.urls.get(&(url.partition, url.fingerprint)) {
                must(
                    row.attempts == url.attempts
                        || !matches!(url.place, Where::Queued { .. } | Where::Leased),
                    || {
                        format!(
                            "{} has {} attempts, expected {}",
                            url.url, row.attempts, url.attempts
                        )
                    },
                )?;
                // What a removed URL brought at last may stand in its record or not.
                let kept = url.place == Where::Removed
                    || (row.digest == url.digest && row.etag == url.etag);
                must(kept, || format!("{}: digest or validator changed", url.url))?;
            }
        }
        Ok(())
    }

    fn compare_leases(&self, after: &View) -> Judged {
        let rows: Vec<_> = after
            .leases
            .values()
            .map(|row| {
                (
                    row.token,
                    row.granted_ms,
                    row.deadline_ms,
                    row.host.as_str(),
                    row.removed,
                )
            })
            .collect();
        let mut own: Vec<_> = self.leases.iter().collect();
        own.sort_by_key(|lease| (lease.key.partition, lease.key.kind, lease.key.fingerprint));
        let own: Vec<_> = own
            .iter()
            .map(|lease| {
                (
                    lease.token,
                    lease.granted_ms,
                    lease.deadline_ms,
                    lease.host.as_str(),
                    lease.removed,
                )
            })
            .collect();
        must(rows == own, || format!("leases {rows:?}, expected {own:?}"))?;
        let rows: Vec<_> = after
            .sessions
            .iter()
            .map(|(name, row)| (name, row.number))
            .collect();
        let own: Vec<_> = self
            .sessions
            .iter()
            .map(|(name, session)| (name, session.number))
            .collect();
        must(rows == own, || {
            format!("sessions {rows:x?}, expected {own:x?}")
        })
    }

    fn compare_hosts(&mut self, after: &View) -> Judged {
        let longest_ms = self.longest_budget_wait_ms();
        let mut hosts = std::mem::take(&mut self.hosts);
        for host in &mut hosts {
            let row = after.hosts.get(&(host.partition, host.name.clone()));
            let row = row.ok_or_else(|| format!("{} has no row", host.name))?;
            compare_host(
                host,
                row,
                (self.now_ms, self.wall_ms),
                longest_ms,
                |crawl| longest_ms.min(2 * self.cycle_ms(crawl)),
            )?;
        }
        self.hosts = hosts;
        Ok(())
    }
}

fn compare_host(
    host: &mut Host,
    row: &HostRow,
    (now_ms, wall_ms): (u64, u64),
    longest_wait_ms: u64,
    longest_ms: impl Fn(u32) -> u64,
) -> Judged {
    let name = &host.name;
    let of =
        |what: &str, row: String, own: String| format!("{name}: {what} is {row}, expected {own}");
    must(row.last_contact_ms == host.last_contact_ms, || {
        of(
            "last contact",
            format!("{:?}", row.last_contact_ms),
            format!("{:?}", host.last_contact_ms),
        )
    })?;
    for (what, row, own) in [
        ("back-off", row.back_off_until_ms, host.back_off_until_ms),
        ("blocked until", row.blocked_until_ms, host.blocked_until_ms),
        ("least delay", row.min_delay_ms, host.min_delay_ms),
        ("paused", row.paused.into(), host.paused.into()),
        (
            "failures",
            u64::from(row.failures),
            u64::from(host.failures),
        ),
        (
            "response time",
            u64::from(row.response_time_ms),
            host.response_ms,
        ),
    ] {
        must(row == own, || of(what, row.to_string(), own.to_string()))?;
    }
    for row in &row.authorities {
        let authority = Authority {
            https: row.https,
            port: row.port as u16,
        };
        let own = host.robots.entry(authority).or_default();
        let theirs = robots(row);
        let is_past = own.until_ms <= wall_ms || own.until_ms > wall_ms + 86_400_000;
        if theirs.phase == Phase::Fresh && theirs.until_ms == 0 && is_past {
            // Of an idle host a date that is past is forgotten.
            own.until_ms = 0;
        }
        must(theirs == *own, || {
            of("robots", format!("{theirs:?}"), format!("{own:?}"))
        })?;
    }
    for row in &row.budgets {
        let own = host.budgets.entry(row.crawl).or_default();
        let wrong = || of("budget", format!("{row:?}"), format!("{own:?}"));
        let is_past =
            own.ends_unix_ms <= wall_ms || own.ends_unix_ms > wall_ms + longest_ms(row.crawl);
        if own.wait_until_unix_ms != 0 && row.wait_until_unix_ms == 0 {
            // The wait is over; the next lease opens the new cycle, or has opened it. Or a wait was taken back that is longer
            // than one may be now, and what was spent stays so.
            let is_kept = (row.ends_unix_ms, row.spent) == (own.ends_unix_ms, own.spent);
            let was_too_long = own.wait_until_unix_ms > wall_ms + longest_wait_ms;
            must(is_past && row.spent <= 1 || was_too_long && is_kept, wrong)?;
        } else if own.ends_unix_ms == row.ends_unix_ms {
            must(row.spent == own.spent, wrong)?;
        } else {
            must(is_past && row.spent <= own.spent, wrong)?;
        }
        *own = Budget {
            ends_unix_ms: row.ends_unix_ms,
            spent: row.spent,
            wait_until_unix_ms: row.wait_until_unix_ms,
        };
    }
    host.budgets
        .retain(|crawl, _| row.budgets.iter().any(|row| row.crawl == *crawl));
    // Work is as old as its arrival, or waits for the end of another lease.
    let latest_ms = now_ms + crate::limits::LEASE_TTL_MS.1;
    must(row.since_ms <= latest_ms, || {
        of("since", row.since_ms.to_string(), latest_ms.to_string())
    })?;
    (host.stored_delay_ms, host.since_ms) = (row.delay_ms, row.since_ms);
    Ok(())
}

fn robots(row: &AuthorityRow) -> Robots {
    Robots {
        phase: phase(row.phase),
        good: match row.good {
            0 => Good::Nothing,
            1 => Good::AllowAll,
            _ => Good::Rules(row.digest.clone()),
        },
        attempt: row.attempt,
        asked_ms: u64::from(row.crawl_delay_ms),
        until_ms: row.until_ms,
        failures: row.failures,
        since_unix_ms: row.since_unix_ms,
        ending: row.ending,
    }
}

pub fn phase(stored: u32) -> Phase {
    match stored {
        0 => Phase::Unknown,
        1 => Phase::Fresh,
        2 => Phase::Unreachable,
        _ => Phase::Pending,
    }
}
