//! What time makes due at the start of an entry.

use super::{
    clock,
    state::{Ended, Host, Judged, Lease, Model, WaitingErrand, Where, must},
};
use crate::{
    authority::Authority, command::lease::LeaseKind, invariants::View, keys::host::HostRow, limits,
};

impl Model {
    pub fn due(&mut self, after: &View) -> Judged {
        self.expire(after)?;
        self.promote(after)?;
        self.end_behind_robots()?;
        self.forget_hosts(after);
        self.sessions
            .retain(|_, session| session.expires_ms > self.now_ms);
        Ok(())
    }

    /// Leases whose deadline is past; the host counts as contacted as late as the deadline.
    fn expire(&mut self, after: &View) -> Judged {
        let now_ms = self.now_ms;
        let mut due: Vec<Lease> = self
            .leases
            .iter()
            .filter(|lease| lease.deadline_ms <= now_ms)
            .cloned()
            .collect();
        due.sort_by_key(|lease| (lease.deadline_ms, lease.key));
        self.expired_now = !due.is_empty();
        must(due.len() <= limits::EXPIRIES_PER_ENTRY, || {
            "the model knows few leases only".into()
        })?;
        for lease in due {
            self.expire_one(lease, after)?;
        }
        Ok(())
    }

    /// The lease ends as an attempt that failed.
    pub fn expire_one(&mut self, lease: Lease, after: &View) -> Judged {
        self.leases.retain(|other| other.token != lease.token);
        self.ended.insert((lease.key, lease.token), Ended::Expired);
        let least_ms = self
            .host(lease.key.partition, &lease.host)
            .map_or(0, |host| self.least_delay_ms(host));
        let host = self.host_mut(lease.key.partition, &lease.host)?;
        host.last_contact_ms = host.last_contact_ms.max(Some(lease.deadline_ms));
        if let Some(row) = after.hosts.get(&(lease.key.partition, lease.host.clone())) {
            host.stored_delay_ms = row.delay_ms;
        } else {
            // Expired and forgotten in one entry: by the delay of one of the crawls.
            host.stored_delay_ms = least_ms;
        }
        match lease.key.kind() {
            LeaseKind::Page => self.expire_page(&lease)?,
            // It says nothing of the host: its robots are as they were.
            LeaseKind::Robots => {}
            LeaseKind::Errand => {
                let same = |waiting: &WaitingErrand| {
                    waiting.host == lease.host
                        && waiting.errand.partition == lease.key.partition
                        && waiting.errand.fingerprint == lease.key.fingerprint
                };
                for waiting in self.errands.iter_mut().filter(|waiting| same(waiting)) {
                    waiting.expiries += 1;
                }
                self.errands
                    .retain(|waiting| waiting.expiries < limits::ERRAND_EXPIRIES);
            }
        }
        Ok(())
    }

    fn expire_page(&mut self, lease: &Lease) -> Judged {
        if self.close_if_removed(lease) {
            return Ok(());
        }
        let now_ms = self.now_ms;
        let most = self
            .crawls
            .get(&lease.crawl)
            .map_or(8, |crawl| clock::max_attempts(&crawl.given));
        let Some(url) = self.url_mut(lease.key.partition, lease.key.fingerprint) else {
            return Err("a leased URL is unknown".into());
        };
        url.attempts += 1;
        url.place = if url.attempts >= most {
            Where::Refused
        } else {
            Where::Queued { due_ms: now_ms }
        };
        Ok(())
    }

    /// Nothing is known of the URL any more, nor of leases it had.
    pub fn forget(&mut self, partition: u64, fingerprint: u64) {
        let same = |one: u64, other: u64| one == partition && other == fingerprint;
        self.urls
            .retain(|url| !same(url.partition, url.fingerprint));
        self.ended.retain(|(key, _), _| {
            key.kind() != LeaseKind::Page || !same(key.partition, key.fingerprint)
        });
        self.forgotten += 1;
    }

    /// A marked lease, and any of a removed crawl, closes its URL as removed, whatever happened.
    pub fn close_if_removed(&mut self, lease: &Lease) -> bool {
        let (partition, fingerprint) = (lease.key.partition, lease.key.fingerprint);
        let crawl = self.crawls.get(&lease.crawl).filter(|crawl| crawl.removed);
        if !lease.removed && crawl.is_none() {
            return false;
        }
        if lease.forget || crawl.is_some_and(|crawl| crawl.forget) {
            self.forget(partition, fingerprint);
        } else if let Some(url) = self.url_mut(partition, fingerprint) {
            url.place = Where::Removed;
        }
        true
    }

    pub fn authority_in(
        &self,
        view: &View,
        partition: u64,
        host: &str,
        authority: Authority,
    ) -> Option<crate::keys::host::AuthorityRow> {
        let row = view.hosts.get(&(partition, host.to_string()))?;
        row.authorities
            .iter()
            .find(|row| row.https == authority.https && row.port == u32::from(authority.port))
            .cloned()
    }

    /// Due visits go to the queue, whatever its limits; a date beyond the longest interval counts as due.
    fn promote(&mut self, after: &View) -> Judged {
        let longest_ms = self
            .crawls
            .values()
            .map(|crawl| clock::revisit_bounds_ms(&crawl.given).1)
            .max()
            .unwrap_or(0);
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        for url in &mut self.urls {
            let Where::Scheduled { due_unix_ms } = url.place else {
                continue;
            };
            if due_unix_ms > wall_ms && due_unix_ms <= wall_ms + longest_ms {
                continue;
            }
            let due_ms = due_in(after, url.partition, url.fingerprint).unwrap_or(now_ms);
            must(due_ms <= now_ms, || {
                format!("{} is due at {due_ms}, now {now_ms}", url.url)
            })?;
            url.place = Where::Queued { due_ms };
            url.attempts = 0;
        }
        Ok(())
    }

    /// URLs of an authority that has been unreachable for 30 days end.
    fn end_behind_robots(&mut self) -> Judged {
        let ending: Vec<_> = self
            .hosts
            .iter()
            .flat_map(|host| {
                host.robots
                    .iter()
                    .filter(|(_, robots)| robots.ending)
                    .map(|(authority, _)| (host.partition, host.name.clone(), *authority))
            })
            .collect();
        for (partition, name, authority) in ending {
            for url in self.urls.iter_mut().filter(|url| {
                url.partition == partition && url.host == name && url.authority == authority
            }) {
                if matches!(url.place, Where::Queued { .. }) {
                    url.place = Where::Refused;
                }
            }
            // URLs that come later get their own 30 days.
            let wall_ms = self.wall_ms;
            let robots = self
                .host_mut(partition, &name)?
                .robots
                .entry(authority)
                .or_default();
            (robots.ending, robots.since_unix_ms) = (false, wall_ms);
        }
        Ok(())
    }

    /// Idle hosts whose clocks are past may be forgotten; rows tell whether they were.
    fn forget_hosts(&mut self, after: &View) {
        let recovered = self.recovery.map(|(_, until_ms, _)| until_ms);
        let gone: Vec<_> = self
            .hosts
            .iter()
            .filter(|host| {
                !self.is_referred(host.partition, &host.name)
                    && self.kept_until_ms(host) <= self.now_ms
            })
            .filter(|host| {
                after
                    .hosts
                    .get(&(host.partition, host.name.clone()))
                    .is_none_or(|row| is_made_anew(host, row, recovered))
            })
            .map(|host| (host.partition, host.name.clone()))
            .collect();
        self.hosts
            .retain(|host| !gone.contains(&(host.partition, host.name.clone())));
    }
}

/// Whether a row knows nothing of what was known of its host. The contact of a recovery is that of any host, a new one's too.
fn is_made_anew(host: &Host, row: &HostRow, recovered: Option<u64>) -> bool {
    let is_contacted = |contact_ms: Option<u64>| contact_ms > recovered;
    let asked = host.robots.values().any(|robots| robots.attempt > 0);
    let loses = (is_contacted(host.last_contact_ms) && !is_contacted(row.last_contact_ms))
        || (asked && row.authorities.iter().all(|row| row.attempt == 0))
        || (host.back_off_until_ms != 0 && row.back_off_until_ms == 0)
        || (host.blocked_until_ms != 0
            && row.blocked_until_ms == 0
            && !is_contacted(host.last_contact_ms)
            && !asked);
    host.min_delay_ms == 0 && !host.paused && loses
}

/// When a queued or leased URL is or was due.
fn due_in(view: &View, partition: u64, fingerprint: u64) -> Option<u64> {
    let queued = view
        .queue
        .iter()
        .find(|row| row.host.0 == partition && row.place.fingerprint == fingerprint)
        .map(|row| row.place.due_ms);
    queued.or_else(|| {
        view.leases
            .get(&(partition, LeaseKind::Page as i32, fingerprint))
            .map(|lease| lease.due_ms)
    })
}
