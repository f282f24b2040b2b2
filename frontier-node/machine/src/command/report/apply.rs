//! Applying `report`: whose lease, does it make sense, is there room for what it could not deliver, then its kind.

use super::{Contact, Outcome, Report, ReportBatch, ReportResult, check};
use crate::{
    command::lease::{LeaseKey, LeaseKind},
    error::MachineError,
    hash, keys,
    keys::lease::LeaseRow,
    limits,
    state::{Host, delay},
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn report(
        &mut self,
        batch: &ReportBatch,
    ) -> Result<Vec<ReportResult>, MachineError> {
        let mut results = Vec::with_capacity(batch.items.len());
        for (position, item) in batch.items.iter().enumerate() {
            let result = if position < limits::REPORT_ITEMS {
                self.report_one(item)?
            } else {
                ReportResult::Invalid("batch_too_long")
            };
            self.count_result(&result);
            results.push(result);
        }
        Ok(results)
    }

    fn report_one(&mut self, report: &Report) -> Result<ReportResult, MachineError> {
        let key = match self.held(report.key, report.token)? {
            Ok(key) => key,
            Err(answer) => return Ok(answer),
        };
        if let Some(wrong) = check::check(report, key.kind()) {
            return Ok(ReportResult::Invalid(wrong));
        }
        let (id, lease) = self.leased(key)?;
        let items = report.undelivered.len() as u64;
        if items > 0 && self.m.meta.outbox_waiting + items > limits::OUTBOX_ROWS {
            self.requeue_for_full_outbox(id, key, &lease, report.contact)?;
            return Ok(ReportResult::Requeued);
        }
        self.fill_outbox(key.partition, report);
        match &report.outcome {
            Some(Outcome::Page(page)) => self.close_page(id, key, &lease, report.contact, page)?,
            Some(Outcome::Robots(robots)) => {
                self.close_robots(id, key, &lease, report.contact, robots)?
            }
            Some(Outcome::Errand(errand)) => {
                self.close_errand(id, key, &lease, report.contact, *errand)?
            }
            None => return Ok(ReportResult::Invalid("no_outcome")),
        }
        Ok(ReportResult::Closed)
    }

    fn fill_outbox(&mut self, partition: u64, report: &Report) {
        let items = report.undelivered.len() as u64;
        self.m.outbox.put(partition, items);
        for item in &report.undelivered {
            let meta = &mut self.m.meta;
            meta.outbox_sequence += 1;
            meta.outbox_in += 1;
            meta.outbox_waiting += 1;
            self.overlay.put(
                keys::outbox::key(partition, meta.outbox_sequence),
                item.encode_to_vec(),
            );
        }
    }

    /// The outcome is not taken, for its links would be lost; the host is left alone for a while.
    fn requeue_for_full_outbox(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        contact: Option<Contact>,
    ) -> Result<(), MachineError> {
        let now_ms = self.now_ms;
        let policy = self.m.policy(lease.crawl);
        self.m.change(id, |host, crawls| {
            host.in_flight = false;
            touch(host, contact, lease.granted_ms, now_ms);
            host.delay_ms = delay::delay_ms(host, crawls, Some(lease.crawl));
            let wait_ms = hash::jitter_ms(
                policy.back_off_base_ms,
                policy.back_off_cap_ms,
                host.hash(lease.token),
            );
            host.back_off_until_ms = host.back_off_until_ms.max(now_ms.saturating_add(wait_ms));
        })?;
        match key.kind() {
            LeaseKind::Page => {
                let mut url = self.leased_url(key, lease)?;
                (url.closed_token, url.closed_requeued) = (lease.token, true);
                self.conclude_page(
                    id,
                    key,
                    lease,
                    url,
                    super::conclude::Next::Requeue { due_ms: now_ms },
                )
            }
            LeaseKind::Robots | LeaseKind::Errand => {
                self.end_lease(key);
                Ok(())
            }
        }
    }
}

/// Moves a host's clock as a contact says: to the first response byte, or to the end of the fetch without one. Ages are held
/// between the grant and now, so that a wrong one never moves the clock back. Says whether a request went unanswered.
pub(super) fn touch(
    host: &mut Host,
    contact: Option<Contact>,
    granted_ms: u64,
    now_ms: u64,
) -> bool {
    let contact = contact.unwrap_or_default();
    if contact.nothing_written {
        return false;
    }
    let age_ms = contact.since_first_byte_ms.unwrap_or(contact.since_end_ms);
    let at_ms = now_ms.saturating_sub(age_ms).max(granted_ms);
    host.last_contact_ms = host.last_contact_ms.max(at_ms);
    host.contacted = true;
    if contact.since_first_byte_ms.is_some() {
        host.response_time_ms = u32::try_from(contact.response_time_ms).unwrap_or(u32::MAX);
    }
    contact.since_first_byte_ms.is_none()
}
