//! Lease calls: each grant allowed, in order, and nothing ready withheld.

use super::{
    clock,
    state::{Good, Host, Judged, Lease as Out, Model, Phase, Session, Where, must},
};
use crate::{
    authority::Authority,
    command::lease::{
        Lease, LeaseCall, LeaseKind, LeaseReply, PageWork, ReadySummary, RobotsWork, Work,
    },
    invariants::View,
    limits,
};

impl Model {
    pub fn judge_lease(&mut self, call: &LeaseCall, reply: &LeaseReply, after: &View) -> Judged {
        if call.session.len() != 16 || call.number == 0 {
            return must(*reply == LeaseReply::Malformed, || {
                format!("{call:?} was answered {reply:?}")
            });
        }
        let newest = self
            .sessions
            .get(&call.session)
            .map_or(0, |session| session.number);
        if call.number < newest {
            return must(*reply == LeaseReply::Stale { newest }, || {
                format!(
                    "number {} after {newest} was answered {reply:?}",
                    call.number
                )
            });
        }
        let LeaseReply::Granted {
            leases,
            repeated,
            ready,
            next_ready_in_ms,
        } = reply
        else {
            return Err(format!("{call:?} was answered {reply:?}"));
        };
        must(*repeated == (call.number == newest), || {
            format!("number {} after {newest}: repeated {repeated}", call.number)
        })?;
        if *repeated {
            let held = self.still_held(&call.session);
            must(*leases == held, || {
                format!("repeated {leases:?}, still held are {held:?}")
            })?;
        } else {
            self.judge_grants(call, leases, after)?;
        }
        let expires_ms = after
            .sessions
            .get(&call.session)
            .map_or(0, |row| row.expires_ms);
        must(
            leases.iter().all(|lease| lease.deadline_ms <= expires_ms),
            || format!("the session is forgotten at {expires_ms}, before its leases"),
        )?;
        if !*repeated {
            self.sessions.insert(
                call.session.clone(),
                Session {
                    number: call.number,
                    grants: leases.clone(),
                    expires_ms,
                },
            );
        } else if let Some(session) = self.sessions.get_mut(&call.session) {
            session.expires_ms = expires_ms;
        }
        self.take_places(after);
        self.judge_summary(ready, *next_ready_in_ms)
    }

    /// The session's last grants that are still leased under the same token.
    fn still_held(&self, session: &[u8]) -> Vec<Lease> {
        let held = |lease: &&Lease| {
            self.lease(lease.key)
                .is_some_and(|out| out.token == lease.token)
        };
        self.sessions
            .get(session)
            .map(|session| session.grants.iter().filter(held).cloned().collect())
            .unwrap_or_default()
    }

    fn judge_grants(&mut self, call: &LeaseCall, leases: &[Lease], after: &View) -> Judged {
        let most = call.max_leases.min(limits::LEASES_PER_CALL) as usize;
        must(leases.len() <= most, || {
            format!("{} grants of {most}", leases.len())
        })?;
        let deadline_ms = self.now_ms
            + call
                .ttl_ms
                .clamp(limits::LEASE_TTL_MS.0, limits::LEASE_TTL_MS.1);
        for host in &mut self.hosts {
            if let Some(row) = after.hosts.get(&(host.partition, host.name.clone())) {
                host.since_ms = row.since_ms;
            }
        }
        self.give_up_pending(after);
        for lease in leases {
            must(lease.token == self.token + 1, || {
                format!("token {} after {}", lease.token, self.token)
            })?;
            must(lease.deadline_ms == deadline_ms, || {
                format!("deadline {}, expected {deadline_ms}", lease.deadline_ms)
            })?;
            self.token = lease.token;
            self.judge_grant(lease)?;
        }
        self.take_places(after);
        if leases.len() < most {
            let ready: Vec<_> = self
                .hosts
                .iter()
                .filter(|host| self.is_ready(host))
                .map(|host| &host.name)
                .collect();
            must(ready.is_empty(), || {
                format!(
                    "{} grants of {most} while these are ready: {ready:?}",
                    leases.len()
                )
            })?;
        }
        Ok(())
    }

    /// An errand's deadline that is past counts as a failed try, noticed when the host is looked at. One that ends what waits
    /// behind it is looked at and not granted.
    fn give_up_pending(&mut self, after: &View) {
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        for host in &mut self.hosts {
            let Some(row) = after.hosts.get(&(host.partition, host.name.clone())) else {
                continue;
            };
            for (authority, robots) in &mut host.robots {
                let row = row.authorities.iter().find(|row| {
                    row.https == authority.https && row.port == u32::from(authority.port)
                });
                let Some(row) = row.filter(|row| {
                    row.phase == 2
                        && row.attempt == robots.attempt
                        && robots.phase == Phase::Pending
                        && robots.until_ms <= now_ms
                }) else {
                    continue;
                };
                if row.failures > robots.failures {
                    robots.fail(now_ms, wall_ms);
                }
            }
        }
    }

    /// Hosts that were looked at and not granted stand by the delay of now.
    fn take_places(&mut self, after: &View) {
        for host in &mut self.hosts {
            if let Some(row) = after.hosts.get(&(host.partition, host.name.clone())) {
                (host.stored_delay_ms, host.since_ms) = (row.delay_ms, row.since_ms);
            }
        }
    }

    /// A try that fails at last after 30 days ends what waits behind it, so that another lane of the host is first.
    fn end_pending(&mut self, host: &Host) -> Judged {
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        loop {
            let current = self
                .host(host.partition, &host.name)
                .cloned()
                .unwrap_or_default();
            let Some(authority) = self.eligible(&current).first().map(|url| url.authority) else {
                return Ok(());
            };
            let Some(robots) = self
                .host_mut(host.partition, &host.name)?
                .robots
                .get_mut(&authority)
            else {
                return Ok(());
            };
            let mut failed = robots.clone();
            if failed.phase != Phase::Pending || failed.until_ms > now_ms {
                return Ok(());
            }
            failed.fail(now_ms, wall_ms);
            if !failed.ending {
                return Ok(());
            }
            *robots = failed;
        }
    }

    fn judge_grant(&mut self, lease: &Lease) -> Judged {
        let host = self.host_of(lease)?.clone();
        let name = &host.name.clone();
        must(!self.in_flight(&host), || {
            format!("{name} is in flight already")
        })?;
        let clock_ms = self.clock_ms(&host);
        must(clock_ms <= self.now_ms, || {
            format!(
                "{name} leased at {}, its clock runs until {clock_ms}",
                self.now_ms
            )
        })?;
        self.judge_order(&host, lease.token)?;
        if lease.key.kind() != LeaseKind::Errand {
            self.end_pending(&host)?;
        }
        let host = self.host(host.partition, name).cloned().unwrap_or_default();
        let pages = !self.eligible(&host).is_empty();
        let is_errand = lease.key.kind() == LeaseKind::Errand;
        if pages && self.has_errand(&host) {
            // Robots leases stand between: they are not pages, and what they find decides whether there is one.
            let is_page = lease.key.kind() == LeaseKind::Page;
            must(!is_errand || !host.errand_last, || {
                format!("{name}: two errands in a row while a page waits")
            })?;
            must(!is_page || host.page_passed == 0, || {
                format!("{name}: two pages in a row while an errand waits")
            })?;
            self.host_mut(host.partition, name)?.page_passed += u32::from(is_page);
        }
        if is_errand {
            self.host_mut(host.partition, name)?.page_passed = 0;
        }
        let out = match &lease.work {
            Work::Page(work) => self.judge_page(&host, lease, work)?,
            Work::Robots(work) => self.judge_robots(&host, lease, work)?,
            Work::Errand(work) => {
                let waits = self
                    .errands
                    .iter()
                    .any(|waiting| waiting.errand == *work && waiting.host == *name);
                must(waits && lease.key.fingerprint == work.fingerprint, || {
                    format!("{name}: errand {work:?} does not wait")
                })?;
                (None, 0, 0)
            }
        };
        let (authority, crawl, due_ms) = out;
        let errand = match &lease.work {
            Work::Errand(errand) => Some(errand.clone()),
            _ => None,
        };
        let is_robots = lease.key.kind() == LeaseKind::Robots;
        let taken = self.host_mut(host.partition, name)?;
        taken.errand_last = is_errand || (is_robots && taken.errand_last);
        let (key, token, granted_ms, deadline_ms) =
            (lease.key, lease.token, self.now_ms, lease.deadline_ms);
        self.leases.push(Out {
            key,
            token,
            granted_ms,
            deadline_ms,
            host: name.clone(),
            authority,
            crawl,
            due_ms,
            errand,
            removed: false,
            forget: false,
        });
        Ok(())
    }

    /// The best class first, in it the longest ready; now and then the longest ready of all, at least every eighth grant.
    fn judge_order(&mut self, host: &Host, token: u64) -> Judged {
        let ready: Vec<_> = self
            .hosts
            .iter()
            .filter(|host| self.is_ready(host))
            .flat_map(|host| self.ranks(host))
            .collect();
        let own = self.ranks(host);
        let best = ready.iter().min().copied();
        let oldest = ready.iter().map(|(_, at_ms)| *at_ms).min();
        if self.expired_now {
            (self.unfair_token, self.passed_over) = (0, 0);
            return Ok(());
        }
        let in_order = own.iter().min().copied() == best;
        let is_oldest = own.iter().map(|(_, at_ms)| *at_ms).min() == oldest;
        must(in_order || is_oldest, || {
            format!(
                "{} with {own:?} went first, the best is {best:?}, the oldest {oldest:?}",
                host.name
            )
        })?;
        if !in_order {
            let since = token - self.unfair_token;
            must(
                self.unfair_token == 0 || since >= limits::FAIR_GRANT_EVERY,
                || format!("out of order twice in {since} grants"),
            )?;
            self.unfair_token = token;
        }
        self.passed_over = if is_oldest { 0 } else { self.passed_over + 1 };
        must(self.passed_over < limits::FAIR_GRANT_EVERY, || {
            "the longest-ready host was passed over too often".into()
        })
    }

    fn judge_page(
        &mut self,
        host: &Host,
        lease: &Lease,
        work: &PageWork,
    ) -> Judged<(Option<Authority>, u32, u64)> {
        let eligible = self.eligible(host);
        let first = eligible
            .first()
            .ok_or_else(|| format!("{}: {} may not go out", host.name, work.url))?;
        must(first.url == work.url && first.crawl == work.crawl, || {
            format!("{}: {} before {}", host.name, work.url, first.url)
        })?;
        must(
            (lease.key.partition, lease.key.fingerprint) == (first.partition, first.fingerprint),
            || format!("{} under another key", work.url),
        )?;
        let robots = host
            .robots
            .get(&first.authority)
            .cloned()
            .unwrap_or_default();
        must(robots.lets_pages(self.wall_ms, self.now_ms), || {
            format!(
                "{}: {} went out with robots {robots:?}",
                host.name, work.url
            )
        })?;
        let expected = PageWork {
            crawl: first.crawl,
            url: first.url.clone(),
            priority: u32::from(first.priority),
            depth: first.depth,
            redirect_hops: first.redirect_hops,
            metadata: first.metadata.clone(),
            etag: first.etag.clone(),
            last_modified: String::new(),
            digest: first.digest.clone(),
            robots_digest: match &robots.good {
                Good::Rules(digest) => Some(digest.clone()),
                _ => None,
            },
            delay_ms: self.delay_ms(host),
            attempt: first.attempts,
        };
        must(expected == *work, || {
            format!("page {work:?}, expected {expected:?}")
        })?;
        let Where::Queued { due_ms } = first.place else {
            return Err("not queued".into());
        };
        let (authority, crawl, cycle_ms) =
            (first.authority, first.crawl, self.cycle_ms(first.crawl));
        let (wall_ms, limit) = (
            self.wall_ms,
            self.crawls
                .get(&crawl)
                .map_or(0, |crawl| clock::budget_pages(&crawl.given)),
        );
        let (partition, name) = (host.partition, host.name.clone());
        let host = self.host_mut(partition, &name)?;
        if limit != u64::MAX || host.budgets.contains_key(&crawl) {
            let budget = host.budgets.entry(crawl).or_default();
            if budget.ends_unix_ms <= wall_ms || budget.ends_unix_ms > wall_ms + 2 * cycle_ms {
                // Cycles begin at multiples of their length.
                (budget.ends_unix_ms, budget.spent) = ((wall_ms / cycle_ms + 1) * cycle_ms, 0);
            }
            must(budget.spent < limit, || {
                format!("{name}: crawl {crawl} spent {} of {limit}", budget.spent)
            })?;
            budget.spent += 1;
        }
        if let Some(url) = self.url_mut(lease.key.partition, lease.key.fingerprint) {
            url.place = Where::Leased;
        }
        Ok((Some(authority), crawl, due_ms))
    }

    pub fn cycle_ms(&self, crawl: u32) -> u64 {
        self.crawls
            .get(&crawl)
            .map_or(0, |crawl| clock::budget_cycle_ms(&crawl.given))
    }

    fn judge_robots(
        &mut self,
        host: &Host,
        lease: &Lease,
        work: &RobotsWork,
    ) -> Judged<(Option<Authority>, u32, u64)> {
        let (name, authority) =
            Authority::of(&work.origin).ok_or_else(|| format!("robots of {}", work.origin))?;
        must(
            name == host.name && lease.key.partition == host.partition,
            || format!("robots of {} at {}", work.origin, host.name),
        )?;
        let first = self.eligible(host).first().map(|url| url.authority);
        must(first == Some(authority), || {
            format!("robots of {} while {first:?} is first", work.origin)
        })?;
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        let robots = self
            .host_mut(host.partition, &host.name)?
            .robots
            .entry(authority)
            .or_default();
        must(robots.may_be_asked(wall_ms, now_ms), || {
            format!("robots of {} asked in {robots:?}", work.origin)
        })?;
        if robots.phase == Phase::Pending {
            robots.fail(now_ms, wall_ms);
        }
        robots.attempt += 1;
        robots.answered = false;
        must(work.attempt == robots.attempt, || {
            format!("robots attempt {} of {}", work.attempt, robots.attempt)
        })?;
        Ok((Some(authority), 0, 0))
    }

    fn host_of(&self, lease: &Lease) -> Judged<&Host> {
        let name = match &lease.work {
            Work::Page(work) => Authority::of(&work.url),
            Work::Robots(work) => Authority::of(&work.origin),
            Work::Errand(work) => Authority::of(&work.url),
        };
        let (name, _) = name.ok_or("a lease of no host")?;
        self.host(lease.key.partition, name)
            .ok_or_else(|| format!("a lease of unknown host {name}"))
    }

    fn judge_summary(&self, ready: &ReadySummary, next_ready_in_ms: Option<u64>) -> Judged {
        let queued = self
            .urls
            .iter()
            .filter(|url| matches!(url.place, Where::Queued { .. }))
            .count() as u64;
        must(ready.queued == queued, || {
            format!("queued {}, expected {queued}", ready.queued)
        })?;
        must(ready.leased == self.leases.len() as u64, || {
            format!("leased {}, expected {}", ready.leased, self.leases.len())
        })?;
        let hosts: Vec<_> = self
            .hosts
            .iter()
            .filter(|host| self.is_ready(host))
            .collect();
        let most: usize = hosts.iter().map(|host| self.ranks(host).len()).sum();
        let total: u64 = ready.by_class.iter().sum();
        // Hosts whose stored delay is older than a policy count as ready until they are looked at.
        must(total >= hosts.len() as u64, || {
            format!(
                "{:?} ready, expected {} to {most}",
                ready.by_class,
                hosts.len()
            )
        })?;
        if !hosts.is_empty() {
            must(next_ready_in_ms == Some(0), || {
                format!("hosts are ready and the hint is {next_ready_in_ms:?}")
            })?;
        }
        let next = self
            .next_ready_ms()
            .map(|at_ms| at_ms.saturating_sub(self.now_ms));
        must(
            next.is_none_or(|next| next_ready_in_ms.is_some_and(|hint| hint <= next)),
            || format!("a host is ready in {next:?}, the hint is {next_ready_in_ms:?}"),
        )
    }

    /// When the next host that waits for shard time alone is ready.
    fn next_ready_ms(&self) -> Option<u64> {
        let waiting = self.hosts.iter().filter(|host| !self.in_flight(host));
        let ready = waiting.filter(|host| self.has_errand(host) || !self.eligible(host).is_empty());
        ready
            .map(|host| self.stored_clock_ms(host).max(host.since_ms))
            .min()
    }
}
