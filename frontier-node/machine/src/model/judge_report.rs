//! Ends of leases: whose they are, what they move, what they leave.

use super::{
    clock,
    state::{Ended, Host, Judged, Lease, Model, Where, must},
};
use crate::{
    command::{
        lease::{LeaseKey, LeaseKind},
        release::ReleaseBatch,
        report::{
            Contact, ErrandOutcome, LostReason, Outcome, PageCode, PageOutcome, Report,
            ReportBatch, ReportResult, RobotsCode,
        },
        set_policy::CrawlPolicy,
    },
    invariants::View,
    limits,
};

/// What an end says of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It answered as it should.
    Well,
    /// It asked for time or failed.
    Failed,
    /// Nothing.
    Neutral,
    /// Either of the above two: docs/PROTOCOL.md leaves it open.
    Open,
}

impl Model {
    pub fn judge_report(
        &mut self,
        batch: &ReportBatch,
        results: &[ReportResult],
        after: &View,
    ) -> Judged {
        must(results.len() == batch.items.len(), || {
            "one result an item".into()
        })?;
        batch
            .items
            .iter()
            .zip(results)
            .try_for_each(|(report, result)| self.judge_end(report, result, after))
    }

    pub fn judge_release(&mut self, batch: &ReleaseBatch, results: &[ReportResult]) -> Judged {
        must(results.len() == batch.items.len(), || {
            "one result an item".into()
        })?;
        for (release, result) in batch.items.iter().zip(results) {
            let key = release.key.unwrap_or_default();
            let Some(lease) = self.mine(key, release.token, result)? else {
                continue;
            };
            must(*result == ReportResult::Closed, || {
                format!("a release was answered {result:?}")
            })?;
            self.close(&lease, Ended::Closed);
            if lease.key.kind() != LeaseKind::Page {
                continue;
            }
            // Nothing was started: the budget is as before.
            if let Some(budget) = self
                .host_mut(key.partition, &lease.host)?
                .budgets
                .get_mut(&lease.crawl)
            {
                budget.spent = budget.spent.saturating_sub(1);
            }
            if !self.close_if_removed(&lease) {
                self.move_url(
                    key,
                    Where::Queued {
                        due_ms: lease.due_ms,
                    },
                );
            }
        }
        Ok(())
    }

    /// The lease, when the token is its; else the refusal is judged.
    fn mine(&self, key: LeaseKey, token: u64, result: &ReportResult) -> Judged<Option<Lease>> {
        let wrong = |allowed: &str| {
            format!(
                "an end of {key:x?} with token {token} was answered {result:?}, expected {allowed}"
            )
        };
        if !self.holds(key.partition) {
            let refused = matches!(result, ReportResult::WrongShard | ReportResult::Invalid(_));
            return must(refused, || wrong("wrong shard")).map(|()| None);
        }
        if LeaseKind::try_from(key.kind).is_err() {
            return must(matches!(result, ReportResult::Invalid(_)), || {
                wrong("invalid")
            })
            .map(|()| None);
        }
        if let Some(lease) = self.lease(key).filter(|lease| lease.token == token) {
            return Ok(Some(lease.clone()));
        }
        let last_closed = self
            .ended
            .iter()
            .filter(|((other, _), how)| *other == key && **how != Ended::Expired)
            .map(|((_, token), _)| *token)
            .max();
        let lost = matches!(result, ReportResult::LeaseLost(_));
        let held = self.lease(key).is_some();
        match self.ended.get(&(key, token)) {
            // Answered as before while the row still names it: pages keep theirs, robots and errands may be gone.
            Some(Ended::Closed) if last_closed == Some(token) => {
                let kept = key.kind() == LeaseKind::Page
                    && self.url(key.partition, key.fingerprint).is_some();
                must(*result == ReportResult::Closed || (!kept && lost), || {
                    wrong("closed")
                })?;
            }
            Some(Ended::Requeued) if last_closed == Some(token) => {
                must(*result == ReportResult::Requeued || lost, || {
                    wrong("requeued")
                })?
            }
            Some(Ended::Expired) if held => must(
                *result == ReportResult::LeaseLost(LostReason::Superseded),
                || wrong("superseded"),
            )?,
            Some(Ended::Expired)
                if key.kind() == LeaseKind::Page
                    && self.url(key.partition, key.fingerprint).is_some() =>
            {
                must(
                    *result == ReportResult::LeaseLost(LostReason::Expired),
                    || wrong("expired"),
                )?;
            }
            _ => must(lost, || wrong("lost"))?,
        }
        Ok(None)
    }

    fn judge_end(&mut self, report: &Report, result: &ReportResult, after: &View) -> Judged {
        let key = report.key.unwrap_or_default();
        if let (true, ReportResult::Invalid(_)) = (self.is_invalid(report), result) {
            return Ok(());
        }
        let Some(lease) = self.mine(key, report.token, result)? else {
            return Ok(());
        };
        if self.is_invalid(report) {
            return Err(format!(
                "{report:?} was answered {result:?}, expected invalid"
            ));
        }
        let room = limits::OUTBOX_ROWS - self.outbox.len() as u64;
        let full = report.undelivered.len() as u64 > room;
        let expected = if full {
            ReportResult::Requeued
        } else {
            ReportResult::Closed
        };
        must(*result == expected, || {
            format!("an end of {key:x?} was answered {result:?}, expected {expected:?}")
        })?;
        self.close(&lease, if full { Ended::Requeued } else { Ended::Closed });
        if !full {
            self.outbox.extend(report.undelivered.iter().cloned());
            self.outbox_in += report.undelivered.len() as u64;
        }
        self.move_clock(&lease, &report.contact)?;
        let sign = match &report.outcome {
            // The outcome is not taken: its links would be lost.
            _ if full => {
                if key.kind() == LeaseKind::Page && !self.close_if_removed(&lease) {
                    let due_ms = self.now_ms;
                    self.move_url(key, Where::Queued { due_ms });
                }
                Sign::Open
            }
            Some(Outcome::Page(outcome)) => self.end_page(&lease, outcome, after)?,
            Some(Outcome::Robots(outcome)) => {
                let found = outcome.found.as_ref().filter(|_| !outcome.requeue);
                if let (Some(found), Some(authority)) = (found, lease.authority) {
                    let known = self.host(key.partition, &lease.host);
                    let known = known.and_then(|host| host.robots.get(&authority));
                    let is_answered = known.is_some_and(|known| known.answered);
                    if !is_answered || found.code() != RobotsCode::Pending {
                        self.take_robots(key.partition, &lease.host, authority, found, after)?;
                    }
                }
                match found.map(|found| found.code()) {
                    Some(RobotsCode::Unreachable) => Sign::Failed,
                    Some(_) => Sign::Well,
                    None => Sign::Neutral,
                }
            }
            Some(Outcome::Errand(outcome)) => self.end_errand(&lease, *outcome),
            None => Sign::Neutral,
        };
        self.judge_back_off(&lease, report.contact, sign, after)
    }

    fn is_invalid(&self, report: &Report) -> bool {
        let Some(key) = report.key else { return true };
        // Nothing written leaves the clock alone, so it may not come with an answer: that would be a contact nobody waits for.
        let silent = report
            .contact
            .is_some_and(|contact| contact.nothing_written);
        let fits = match (&report.outcome, LeaseKind::try_from(key.kind)) {
            (Some(Outcome::Page(outcome)), Ok(LeaseKind::Page)) => {
                match PageCode::try_from(outcome.code) {
                    Ok(PageCode::Stored) => !silent && outcome.digest.len() == 32,
                    Ok(
                        PageCode::NotModified
                        | PageCode::Redirect
                        | PageCode::HttpError
                        | PageCode::HttpBusy,
                    ) => !silent,
                    Ok(_) => true,
                    Err(_) => false,
                }
            }
            (Some(Outcome::Robots(outcome)), Ok(LeaseKind::Robots)) => match &outcome.found {
                _ if outcome.requeue => true,
                Some(found) => match RobotsCode::try_from(found.code) {
                    Ok(RobotsCode::Rules) => !silent && found.digest.len() == 32,
                    Ok(RobotsCode::Unreachable) => true,
                    Ok(_) => !silent,
                    Err(_) => false,
                },
                None => false,
            },
            (Some(Outcome::Errand(outcome)), Ok(LeaseKind::Errand)) => {
                outcome.delivered || outcome.requeue
            }
            _ => false,
        };
        !fits || report.undelivered.len() > limits::UNDELIVERED_PER_REPORT
    }

    fn close(&mut self, lease: &Lease, how: Ended) {
        self.leases.retain(|other| other.token != lease.token);
        self.ended.insert((lease.key, lease.token), how);
    }

    fn move_url(&mut self, key: LeaseKey, place: Where) {
        if let Some(url) = self.url_mut(key.partition, key.fingerprint) {
            url.place = place;
        }
    }

    /// Last contact: the first response byte, else the end, never before the grant; nothing written leaves it alone.
    fn move_clock(&mut self, lease: &Lease, contact: &Option<Contact>) -> Judged {
        let now_ms = self.now_ms;
        let host = self.host_mut(lease.key.partition, &lease.host)?;
        let age_ms = match contact {
            Some(contact) if contact.nothing_written => return Ok(()),
            Some(contact) => contact.since_first_byte_ms.unwrap_or(contact.since_end_ms),
            None => 0,
        };
        host.last_contact_ms =
            Some(now_ms.saturating_sub(age_ms).max(lease.granted_ms)).max(host.last_contact_ms);
        if let Some(contact) = contact.filter(|contact| contact.since_first_byte_ms.is_some()) {
            host.response_ms = contact.response_time_ms.min(u64::from(u32::MAX));
        }
        Ok(())
    }

    fn end_page(&mut self, lease: &Lease, outcome: &PageOutcome, after: &View) -> Judged<Sign> {
        let sign = match outcome.code() {
            PageCode::HttpBusy | PageCode::NetworkError | PageCode::DnsNotFound => Sign::Failed,
            PageCode::Disallowed | PageCode::Refused | PageCode::Requeue => Sign::Neutral,
            _ => Sign::Well,
        };
        if self.close_if_removed(lease) {
            return Ok(sign);
        }
        let policy = self.policy(lease.crawl);
        let now_ms = self.now_ms;
        let actual = Self::place_in(after, lease.key.partition, lease.key.fingerprint);
        let scheduled_ok = self.is_legal_visit(&policy, actual);
        let Some(url) = self.url_mut(lease.key.partition, lease.key.fingerprint) else {
            return Err("a leased URL is unknown".into());
        };
        let again = actual == Some(Where::Queued { due_ms: now_ms });
        let ended = |end: Where| actual == Some(end);
        let (fits, attempts) = match outcome.code() {
            PageCode::Stored => (
                if policy.revisit {
                    scheduled_ok
                } else {
                    ended(Where::Done)
                },
                0,
            ),
            // A 304 nobody asked for: tried again or taken as an answer.
            PageCode::NotModified if url.etag.is_empty() => (
                again || ended(Where::Done) || ended(Where::Refused),
                url.attempts + 1,
            ),
            PageCode::NotModified => (
                if policy.revisit {
                    scheduled_ok
                } else {
                    ended(Where::Done)
                },
                0,
            ),
            PageCode::Redirect | PageCode::HttpError => {
                (ended(Where::Done) || (policy.revisit && scheduled_ok), 0)
            }
            PageCode::HttpBusy | PageCode::NetworkError => {
                let attempts = url.attempts + 1;
                let last = attempts >= clock::max_attempts(&policy);
                (if last { ended(Where::Refused) } else { again }, attempts)
            }
            PageCode::DnsNotFound => (again || ended(Where::Refused), url.attempts + 1),
            PageCode::Disallowed | PageCode::Refused => (ended(Where::Refused), url.attempts),
            PageCode::Requeue => (again, url.attempts),
        };
        must(fits, || {
            format!(
                "{} ended as {:?} (attempts {attempts}) and is {actual:?}, was due {}",
                url.url,
                outcome.code(),
                lease.due_ms
            )
        })?;
        url.place = actual.unwrap_or(Where::Done);
        url.attempts = attempts;
        if outcome.code() == PageCode::Stored {
            url.digest = outcome.digest.clone();
            url.etag = outcome.etag.clone();
        }
        Ok(sign)
    }

    fn policy(&self, crawl: u32) -> CrawlPolicy {
        self.crawls
            .get(&crawl)
            .map(|crawl| crawl.given)
            .unwrap_or_default()
    }

    fn is_legal_visit(&self, policy: &CrawlPolicy, place: Option<Where>) -> bool {
        let (least_ms, most_ms) = clock::revisit_bounds_ms(policy);
        matches!(place, Some(Where::Scheduled { due_unix_ms })
            if (self.wall_ms + least_ms..=self.wall_ms + most_ms).contains(&due_unix_ms))
    }

    /// The errand that was leased goes; a newer one of the same origin that came meanwhile stays.
    fn end_errand(&mut self, lease: &Lease, outcome: ErrandOutcome) -> Sign {
        if !outcome.requeue {
            self.errands
                .retain(|waiting| Some(&waiting.errand) != lease.errand.as_ref());
        }
        match outcome.failed {
            true => Sign::Failed,
            false => Sign::Open,
        }
    }

    /// Back-off by what happened, within its bounds; what the machine chose is taken over.
    fn judge_back_off(
        &mut self,
        lease: &Lease,
        contact: Option<Contact>,
        sign: Sign,
        after: &View,
    ) -> Judged {
        let policy = self.policy(lease.crawl);
        let now_ms = self.now_ms;
        let Some(row) = after.hosts.get(&(lease.key.partition, lease.host.clone())) else {
            return Ok(());
        };
        let host: &mut Host = self.host_mut(lease.key.partition, &lease.host)?;
        let contact = contact.unwrap_or(Contact {
            since_end_ms: 0,
            ..Contact::default()
        });
        let silent = !contact.nothing_written && contact.since_first_byte_ms.is_none();
        let asked_ms = contact.retry_after_ms;
        let failed = sign == Sign::Failed || silent || asked_ms > 0;
        let added_ms = row.back_off_until_ms.saturating_sub(now_ms);
        let wrong = |what: &str| {
            format!(
                "{}: {sign:?}, {contact:?}: failures {} to {}, back-off {added_ms} ms: {what}",
                lease.host, host.failures, row.failures
            )
        };
        must(row.back_off_until_ms >= host.back_off_until_ms, || {
            wrong("the back-off was shortened")
        })?;
        if failed {
            let capped_ms = asked_ms.min(if policy.back_off_cap_ms == 0 {
                86_400_000
            } else {
                policy.back_off_cap_ms
            });
            let floor_ms = capped_ms.max(if silent {
                clock::fetch_timeout_ms(&policy)
            } else {
                0
            });
            must(added_ms >= floor_ms, || {
                wrong(&format!("at least {floor_ms} ms"))
            })?;
        }
        if sign == Sign::Failed {
            must(row.failures > host.failures, || {
                wrong("a failure was not counted")
            })?;
            let (least_ms, most_ms) =
                clock::back_off_bounds_ms(&policy, row.failures, asked_ms, silent);
            let most_ms = most_ms.max(host.back_off_until_ms.saturating_sub(now_ms));
            must((least_ms..=most_ms).contains(&added_ms), || {
                wrong(&format!("expected {least_ms} to {most_ms}"))
            })?;
        }
        if sign == Sign::Well {
            must(row.failures == 0, || wrong("a good answer forgives"))?;
        }
        if sign == Sign::Neutral {
            must(row.failures == host.failures, || {
                wrong("it says nothing of the host")
            })?;
        }
        if sign != Sign::Failed && sign != Sign::Open && !failed {
            must(row.back_off_until_ms == host.back_off_until_ms, || {
                wrong("the host did nothing wrong")
            })?;
        }
        (host.failures, host.back_off_until_ms) = (row.failures, row.back_off_until_ms);
        Ok(())
    }
}
