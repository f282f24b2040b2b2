//! The end of an errand lease.

use super::{Contact, ErrandOutcome, apply::touch};
use crate::{
    command::lease::LeaseKey,
    error::MachineError,
    keys::{self, errand::ErrandRow, lease::LeaseRow},
    state::delay::{self, Failure},
    step::Step,
};

impl Step<'_> {
    pub(super) fn close_errand(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        contact: Option<Contact>,
        outcome: ErrandOutcome,
    ) -> Result<(), MachineError> {
        self.end_lease(key);
        let now_ms = self.now_ms;
        let lanes = self
            .m
            .hosts
            .host(id)?
            .lanes
            .first()
            .map_or(0, |lane| lane.crawl);
        let policy = self.m.policy(lanes);
        self.m.change(id, |host, crawls| {
            host.in_flight = false;
            let unanswered = touch(host, contact, lease.granted_ms, now_ms);
            host.delay_ms = delay::delay_ms(host, crawls, None);
            let retry_after_ms = contact.map_or(0, |contact| contact.retry_after_ms);
            let wait_ms = if outcome.failed {
                host.failures = host.failures.saturating_add(1);
                delay::back_off_ms(
                    host,
                    &policy,
                    Failure {
                        retry_after_ms,
                        no_response: unanswered,
                    },
                )
            } else {
                if !unanswered && !outcome.requeue {
                    host.failures = 0;
                }
                retry_after_ms
                    .min(policy.back_off_cap_ms)
                    .max(if unanswered {
                        policy.fetch_timeout_ms
                    } else {
                        0
                    })
            };
            if wait_ms > 0 {
                host.back_off_until_ms = host.back_off_until_ms.max(now_ms.saturating_add(wait_ms));
            }
        })?;
        let row_key = keys::errand::key(key.partition, &lease.host, key.fingerprint);
        let row: Option<ErrandRow> = self.read(keys::errand::SPACE, &row_key)?;
        let same = row.and_then(|row| row.errand) == lease.errand;
        // A newer errand of the same origin that came meanwhile stays.
        if outcome.delivered && !outcome.requeue && same {
            self.drop_errand(id, row_key)?;
        }
        Ok(())
    }
}
